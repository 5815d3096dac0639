// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package remote is how a ledger is looked into and tended while a server has it: an HTTP handler for the server's socket of administration,
// and the client of it. The socket lies beside the ledger and is for whoever may open the ledger itself; nothing else guards it.
//
//	GET  /v1/allocations   ?pool= &owner= &address= &state= &node= &namespace= &before=   lines of JSON
//	GET  /v1/export        ?leaveOutBroken=true                                           an archive
//	POST /v1/verify        lines with the number of rows that are read, the last with the report
//	POST /v1/release       {"owner":{"contract":…,"key":…}}
//	POST /v1/gc            ?dryRun=true                                                   lines of JSON
//
// An answer that breaks off says why in the trailer Graft-Error. It knows no concrete store and starts no listener. Enter at New and at Dial.
package remote
