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
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// head is the first line.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

const (
	formatName    = "graft-ledger"
	formatVersion = 1
)

// body is any other line: one of its fields is set.
type body struct {
	Allocation json.RawMessage `json:"allocation,omitempty"`
	Resting    *resting        `json:"resting,omitempty"`
	End        *Summary        `json:"end,omitempty"`
}

type resting struct {
	ledger.Thing
	Until time.Time `json:"until"`
}

// Summary is how much there is, and the checksum of it.
type Summary struct {
	Allocations int    `json:"allocations"`
	Resting     int    `json:"resting"`
	SHA256      string `json:"sha256"`
}

// Writer writes an archive. After an error all that follows is for nothing.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash
	summary Summary
}

// NewWriter begins an archive.
func NewWriter(out io.Writer) (*Writer, error) {
	w := &Writer{out: bufio.NewWriterSize(out, 1<<16), sum: sha256.New()}
	return w, w.line(head{formatName, formatVersion})
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

// Allocation writes what an owner holds, as it stands in a ledger.
func (w *Writer) Allocation(raw []byte) error {
	if bytes.ContainsAny(raw, "\n\r") {
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return fmt.Errorf("writing an allocation: %w", err)
		}
		raw = line.Bytes()
	}
	if len(raw) > maximumLine-len(beginsAllocation)-1 {
		return fmt.Errorf("writing an allocation: it has more than %d bytes", maximumLine)
	}
	w.summary.Allocations++
	return w.write([]byte(beginsAllocation), raw, []byte("}\n"))
}

// Resting writes what rests.
func (w *Writer) Resting(t ledger.Thing, until time.Time) error {
	w.summary.Resting++
	return w.line(body{Resting: &resting{t, until.UTC()}})
}

// Close writes the last line.
func (w *Writer) Close() (Summary, error) {
	w.summary.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	if err := w.line(body{End: &w.summary}); err != nil {
		return w.summary, err
	}
	return w.summary, w.out.Flush()
}
