// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package remote gives access to a ledger while a server uses it: an HTTP handler for the server's admin socket, and
// its client. The socket is next to the ledger, and users who may open the ledger may use it; there is no other access
// control.
//
//	GET  /v1/allocations   ?pool= &owner= &address= &state= &node= &namespace= &before=   lines of JSON
//	GET  /v1/export        ?leaveOutBroken=true                                           an archive
//	POST /v1/verify        lines with the number of rows read, then the report
//	POST /v1/release       {"owner":{"contract":…,"key":…}}
//	POST /v1/gc            ?dryRun=true                                                   lines of JSON
//
// An incomplete response has its error in the trailer Graft-Error. The package uses no concrete store and starts no
// listener. Start reading at New and Dial.
package remote
