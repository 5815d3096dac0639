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
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
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

// Exported describes an export.
type Exported struct {
	Summary
	// Broken is the number of omitted rows. Even means that the remaining rows are consistent; otherwise the archive is
	// incomplete, and ledger.Verify reports the reason.
	Broken int  `json:"broken,omitempty"`
	Even   bool `json:"even"`
}

// Export writes the content of a store in the order of its rows. Concurrent writes are allowed: the export is a
// snapshot if the store supports them. It omits unreadable rows and calls leaveOut for each; if that is nil, it fails for the first one.
func Export(ctx context.Context, store ledger.Store, out io.Writer, leaveOut func(*ledger.BrokenRow)) (done Exported, err error) {
	if err := ledger.CheckFormat(ctx, store); err != nil {
		return done, err
	}
	buffered, sum := bufio.NewWriterSize(out, 1<<16), sha256.New()
	lines := json.NewEncoder(io.MultiWriter(buffered, sum))
	lines.SetEscapeHTML(false) // stored JSON is written as it is
	if err := lines.Encode(head{formatName, version}); err != nil {
		return done, writing(err)
	}
	done.Even, err = ledger.Walk(ctx, store, func(e ledger.Entry, broken *ledger.BrokenRow) error {
		if broken != nil && leaveOut != nil {
			done.Broken++
			leaveOut(broken)
			return nil
		} else if broken != nil {
			return broken
		}
		line, err := lineOf(e, &done.Summary)
		if err == nil && line != nil {
			err = lines.Encode(line)
		}
		return writing(err)
	})
	if err != nil {
		return done, err
	}
	done.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return done, writing(errors.Join(lines.Encode(body{End: &done.Summary}), buffered.Flush()))
}

// lineOf returns the line of an entry, or nil for a resource that its owner's line lists, and counts it.
func lineOf(e ledger.Entry, count *Summary) (*body, error) {
	const around = 64 // bytes of a line that are not of the row
	if len(e.Key)+len(e.Value) > maximumLine-around {
		return nil, fmt.Errorf("%s has more than %d bytes", ledger.Describe(e.Key), maximumLine)
	}
	switch {
	case e.Record:
		count.Records++
		return &body{Record: &record{e.Key, e.Value}}, nil
	case e.Allocation != nil:
		count.Allocations++
		return &body{Allocation: e.Value}, nil
	case e.Until.IsZero():
		return nil, nil //nolint:nilnil // nil means that there is no line
	}
	count.Quarantined++
	line := quarantine{Resource: e.Resource, Until: e.Until.UTC()}
	if e.Last != (network.Owner{}) {
		line.Last = e.Last.String()
	}
	return &body{Quarantined: &line}, nil
}

func writing(err error) error {
	if err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	return nil
}
