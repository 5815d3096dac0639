// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package archive exports a ledger to a file, and imports it into an empty one: for backups, for moving to another
// store, or for analysis with other tools. The file consists of lines of JSON that do not depend on the store's format:
//
//	{"format":"graft-ledger","version":1}
//	{"allocation":{…}}                                 as network.Allocation
//	{"quarantined":{"pool":…,"address":…,"until":…}}   or trunk and vlan, or mac
//	{"record":{"key":…,"value":{…}}}                   a row of another package
//	{"end":{"allocations":1,"quarantined":1,"records":1,"sha256":"…"}}
//
// The checksum covers all lines before the last one. The same ledger always produces the same bytes. It uses no
// concrete store. Start reading at Export and Import.
package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// The name and the version of the format. Earlier builds wrote the second version for exports with records.
const (
	formatName     = "graft-ledger"
	version        = 1
	versionRecords = 2
)

// maximumLine limits a line, in bytes. A row has at most a cloud's reference of 16 KiB and some hundred bytes.
const maximumLine = 1 << 20

// head is the first line.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// body is any other line: one of its fields is set.
type body struct {
	Allocation  json.RawMessage `json:"allocation,omitempty"`
	Quarantined *quarantine     `json:"quarantined,omitempty"`
	Record      *record         `json:"record,omitempty"`
	End         *Summary        `json:"end,omitempty"`
}

type quarantine struct {
	ledger.Resource
	Until time.Time `json:"until"`
	// Last is the last owner, as <contract>/<key>, or "" if it is unknown.
	Last string `json:"last,omitempty"`
}

// record is a row of another package as stored in a ledger.
type record struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Summary has the numbers of rows in an archive, and their checksum.
type Summary struct {
	Allocations int `json:"allocations"`
	Quarantined int `json:"quarantined"`
	// Records are rows of other packages.
	Records int    `json:"records,omitempty"`
	SHA256  string `json:"sha256"`
}

// ErrForeign means that a file is not an export of a ledger.
var ErrForeign = errors.New("it is not an export of a ledger")

// Error is an error in a line.
type Error struct {
	// Line counts from 1.
	Line int
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
