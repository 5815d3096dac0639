// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package archive writes what a ledger holds into a file, and reads it into an empty one: to keep a copy, to move to another store, or to
// look into it with other tools. The file is lines of JSON, which do not depend on how a store keeps its rows:
//
//	{"format":"graft-ledger","version":1}
//	{"allocation":{…}}                             as network.Allocation
//	{"resting":{"pool":…,"address":…,"until":…}}   or trunk and vlan, or mac
//	{"record":{"key":…,"value":{…}}}               a row of another package; the version is 2 where there are such
//	{"end":{"allocations":1,"resting":1,"records":1,"sha256":"…"}}
//
// The checksum is that of all lines before the last one. The same ledger gives the same bytes. Nothing here grows with the number of lines.
// It knows no concrete store. Enter at Export and Import.
package archive
