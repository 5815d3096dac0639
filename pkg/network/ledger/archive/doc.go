// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package archive exports a ledger to a file, and imports it into an empty one: for backups, for moving to another
// store, or for analysis with other tools. The file consists of lines of JSON that do not depend on the store's format:
//
//	{"format":"graft-ledger","version":1}
//	{"allocation":{…}}                             as network.Allocation
//	{"resting":{"pool":…,"address":…,"until":…}}   or trunk and vlan, or mac
//	{"record":{"key":…,"value":{…}}}               a row of another package; then the version is 2
//	{"end":{"allocations":1,"resting":1,"records":1,"sha256":"…"}}
//
// The checksum covers all lines before the last one. The same ledger always produces the same bytes. Memory use does
// not grow with the number of lines. It uses no concrete store. Start reading at Export and Import.
package archive
