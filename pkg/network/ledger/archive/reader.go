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
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// maximumLine bounds a line in bytes: no answer of a cloud is so big.
const maximumLine = 1 << 20

// beginsAllocation begins the line of an allocation, as it is written here.
const beginsAllocation = `{"allocation":`

// ErrForeign says that a file is no archive of a ledger.
var ErrForeign = errors.New("it is no export of a ledger")

// Error is an error in a line.
type Error struct {
	// Line counts from 1.
	Line int
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Item is one line: an allocation, a thing that rests until a time, or a record of another package.
type Item struct {
	Line int
	// Either Allocation is set, with Raw as stored in the ledger, or Record, the key of a record, or Thing and Until.
	Allocation *network.Allocation
	Raw        []byte
	Record     string
	Thing      ledger.Thing
	Until      time.Time
	Last       network.Owner
	// Rows are those of it in a ledger where nothing of it is.
	Rows []ledger.Change
}

// Reader reads an archive, and believes nothing of it.
type Reader struct {
	lines   *bufio.Scanner
	number  int
	sum     hash.Hash
	summary Summary
	version int
	ended   bool
}

// NewReader reads the first line. The error wraps ErrForeign, or ledger.ErrFormat for one of a newer version.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{lines: bufio.NewScanner(in), sum: sha256.New()}
	r.lines.Buffer(make([]byte, 0, 1<<16), maximumLine+1)
	var first head
	line, err := r.next()
	if err == nil && (json.Unmarshal(line, &first) != nil || first.Format != formatName) {
		err = ErrForeign
	}
	if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrTooLong) {
		err = ErrForeign
	}
	if err != nil {
		return nil, err
	}
	if first.Version != versionPlain && first.Version != versionRecords {
		return nil, fmt.Errorf("%w: the export is of version %d, and this one reads %d and %d", ledger.ErrFormat, first.Version, versionPlain, versionRecords)
	}
	r.version = first.Version
	r.note(line)
	return r, nil
}

// next returns the next line without its end.
func (r *Reader) next() ([]byte, error) {
	r.number++
	if r.lines.Scan() {
		return r.lines.Bytes(), nil
	}
	if err := r.lines.Err(); err != nil {
		return nil, r.problem(err)
	}
	return nil, io.EOF
}

func (r *Reader) problem(err error) error { return &Error{r.number, err} }

func (r *Reader) note(line []byte) {
	_, _ = r.sum.Write(line) // never fails
	_, _ = r.sum.Write([]byte("\n"))
}

var (
	errTruncated = errors.New("the end is missing: the export was not finished, or not copied whole")
	errDamaged   = errors.New("the export was changed or damaged: what was read is not what its last line says")
)

// Next returns the next line before the last one, which the caller owns. It returns io.EOF after the last line if the
// archive is complete and unchanged, and otherwise an Error.
func (r *Reader) Next() (Item, error) {
	if r.ended {
		return Item{}, io.EOF
	}
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		err = r.problem(errTruncated)
	}
	if err != nil {
		return Item{}, err
	}
	b, err := parse(line)
	if err != nil {
		return Item{}, r.problem(err)
	}
	if b.End != nil {
		return Item{}, r.end(*b.End)
	}
	r.note(line)
	item, err := r.item(b)
	if err != nil {
		return Item{}, r.problem(err)
	}
	return item, nil
}

// parse reads a line, which has exactly one of the fields.
func parse(line []byte) (body, error) {
	if inner, ok := bytes.CutPrefix(line, []byte(beginsAllocation)); ok && bytes.HasSuffix(inner, []byte("}")) {
		if raw := inner[:len(inner)-1]; json.Valid(raw) {
			return body{Allocation: bytes.Clone(raw)}, nil
		}
	}
	var b body
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&b); err != nil {
		return b, fmt.Errorf("it cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return b, errors.New("it cannot be read: something follows the value")
	}
	fields := 0
	for _, set := range []bool{b.Allocation != nil, b.Resting != nil, b.Record != nil, b.End != nil} {
		if set {
			fields++
		}
	}
	if fields != 1 {
		return b, errors.New("a line is one allocation, one thing that rests, one record, or the end")
	}
	return b, nil
}

func (r *Reader) item(b body) (item Item, err error) {
	item.Line = r.number
	if b.Resting != nil {
		r.summary.Resting++
		return r.resting(item, *b.Resting)
	}
	if b.Record != nil {
		if r.summary.Records++; r.version < versionRecords {
			return item, fmt.Errorf("an export of version %d has no records", r.version)
		}
		row, err := ledger.RecordRow(b.Record.Key, b.Record.Value)
		item.Record, item.Rows = b.Record.Key, []ledger.Change{row}
		return item, err
	}
	r.summary.Allocations++
	a, rows, err := ledger.AllocationRows(b.Allocation)
	item.Allocation, item.Raw, item.Rows = &a, b.Allocation, rows
	return item, err
}

// resting parses an entry about a cooldown.
func (r *Reader) resting(item Item, of resting) (_ Item, err error) {
	if of.Last != "" {
		if item.Last, err = network.ParseOwner(of.Last); err != nil {
			return item, err
		}
	}
	row, err := ledger.RestingRow(of.Thing, of.Until, item.Last)
	item.Thing, item.Until, item.Rows = of.Thing, of.Until, []ledger.Change{row}
	return item, err
}

// end compares the content with the last line.
func (r *Reader) end(said Summary) error {
	r.summary.SHA256 = hex.EncodeToString(r.sum.Sum(nil))
	if said != r.summary {
		return r.problem(errDamaged)
	}
	switch _, err := r.next(); {
	case err == nil:
		return r.problem(errors.New("something follows the end"))
	case !errors.Is(err, io.EOF):
		return err
	}
	r.ended = true
	return io.EOF
}

// Summary returns the summary of the content after Next has returned io.EOF.
func (r *Reader) Summary() Summary { return r.summary }

// Check reads an archive to its end, calls each for its lines until it returns an error, and says how much there is.
func Check(in io.Reader, each func(Item) error) (Summary, error) {
	r, err := NewReader(in)
	if err != nil {
		return Summary{}, err
	}
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Summary(), nil
		}
		if err == nil {
			err = each(item)
		}
		if err != nil {
			return r.Summary(), err
		}
	}
}
