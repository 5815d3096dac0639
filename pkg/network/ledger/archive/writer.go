// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// head is the first line.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// The versions: one that every Graft can read completely, and one with records, which older programs refuse because
// they would lose them.
const (
	formatName     = "graft-ledger"
	versionPlain   = 1
	versionRecords = 2
)

// body is any other line: one of its fields is set.
type body struct {
	Allocation json.RawMessage `json:"allocation,omitempty"`
	Resting    *resting        `json:"resting,omitempty"`
	Record     *record         `json:"record,omitempty"`
	End        *Summary        `json:"end,omitempty"`
}

type resting struct {
	ledger.Thing
	Until time.Time `json:"until"`
	// Last is who had it, as <contract>/<key>; empty where that is not known.
	Last string `json:"last,omitempty"`
}

// record is a row of another package as stored in a ledger.
type record struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Summary is how much there is, and the checksum of it.
type Summary struct {
	Allocations int `json:"allocations"`
	Resting     int `json:"resting"`
	// Records are rows of other packages.
	Records int    `json:"records,omitempty"`
	SHA256  string `json:"sha256"`
}

// Writer writes an archive. After an error, it is unusable.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash
	summary Summary
	version int
}

// NewWriter begins an archive without records.
func NewWriter(out io.Writer) (*Writer, error) { return newWriter(out, versionPlain) }

// NewRecordsWriter begins an archive that may have records.
func NewRecordsWriter(out io.Writer) (*Writer, error) { return newWriter(out, versionRecords) }

func newWriter(out io.Writer, version int) (*Writer, error) {
	w := &Writer{out: bufio.NewWriterSize(out, 1<<16), sum: sha256.New(), version: version}
	return w, w.line(head{formatName, version})
}

func (w *Writer) line(value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing a line: %w", err)
	}
	return w.write(raw, []byte("\n"))
}

func (w *Writer) write(parts ...[]byte) error {
	for _, part := range parts {
		_, _ = w.sum.Write(part) // never fails
		if _, err := w.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// oneLine returns stored JSON without line breaks.
func oneLine(raw []byte) ([]byte, error) {
	if !bytes.ContainsAny(raw, "\n\r") {
		return raw, nil
	}
	var line bytes.Buffer
	err := json.Compact(&line, raw)
	return line.Bytes(), err
}

// Allocation writes an allocation as stored in a ledger.
func (w *Writer) Allocation(raw []byte) error {
	raw, err := oneLine(raw)
	if err != nil {
		return fmt.Errorf("writing an allocation: %w", err)
	}
	if len(raw) > maximumLine-len(beginsAllocation)-1 {
		return fmt.Errorf("writing an allocation: it has more than %d bytes", maximumLine)
	}
	w.summary.Allocations++
	return w.write([]byte(beginsAllocation), raw, []byte("}\n"))
}

// Resting writes a cooldown with the last owner, or the zero owner if unknown.
func (w *Writer) Resting(t ledger.Thing, until time.Time, last network.Owner) error {
	w.summary.Resting++
	row := resting{Thing: t, Until: until.UTC()}
	if last != (network.Owner{}) {
		row.Last = last.String()
	}
	return w.line(body{Resting: &row})
}

// Record writes a row of another package as stored in a ledger.
func (w *Writer) Record(key string, value []byte) error {
	if w.version < versionRecords {
		return errors.New("writing a record: there was none when the export began; begin it anew")
	}
	name, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	if value, err = oneLine(value); err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	line := slices.Concat([]byte(`{"record":{"key":`), name, []byte(`,"value":`), value, []byte("}}"))
	if len(line) > maximumLine {
		return fmt.Errorf("writing a record: it has more than %d bytes", maximumLine)
	}
	w.summary.Records++
	return w.write(line, []byte("\n"))
}

// Close writes the last line.
func (w *Writer) Close() (Summary, error) {
	w.summary.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	if err := w.line(body{End: &w.summary}); err != nil {
		return w.summary, err
	}
	return w.summary, w.out.Flush()
}
