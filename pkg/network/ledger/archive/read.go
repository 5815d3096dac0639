// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

var (
	errTruncated = errors.New("the end is missing: the export was not finished, or not copied whole")
	errDamaged   = errors.New("the export was changed or damaged: its contents do not match its last line; take another copy")
	errFields    = errors.New("a line must have exactly one of allocation, quarantined, record and end")
)

// Read checks an archive while it reads it to its end, and calls each for the rows of every line until that returns an
// error. The first row has the allocation, the record or the resource in quarantine. The error is an *Error for an
// unreadable line, and wraps ErrForeign, or ledger.ErrFormat for an archive of a newer version.
func Read(in io.Reader, each func(line int, rows []ledger.Change) error) (Summary, error) {
	r := &reader{lines: bufio.NewScanner(in), sum: sha256.New()}
	r.lines.Buffer(make([]byte, 0, 1<<16), maximumLine+1)
	if err := r.head(); err != nil {
		return Summary{}, err
	}
	for {
		rows, err := r.line()
		switch {
		case errors.Is(err, io.EOF):
			return r.count, nil
		case err != nil:
			return r.count, &Error{r.number, err}
		}
		if err := each(r.number, rows); err != nil {
			return r.count, err
		}
	}
}

// reader reads an archive line by line.
type reader struct {
	lines  *bufio.Scanner
	number int
	sum    hash.Hash
	count  Summary
}

// next returns the next line without its end, or io.EOF.
func (r *reader) next() ([]byte, error) {
	r.number++
	if r.lines.Scan() {
		return r.lines.Bytes(), nil
	}
	return nil, cmp.Or(r.lines.Err(), io.EOF)
}

func (r *reader) note(line []byte) {
	_, _ = r.sum.Write(line) // never fails
	_, _ = r.sum.Write([]byte("\n"))
}

func (r *reader) head() error {
	var first head
	line, err := r.next()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrTooLong):
		return ErrForeign
	case err != nil:
		return &Error{r.number, err}
	case json.Unmarshal(line, &first) != nil || first.Format != formatName:
		return ErrForeign
	case first.Version != version && first.Version != versionRecords:
		return fmt.Errorf("%w: the export has version %d, but this version of Graft reads %d and %d",
			ledger.ErrFormat, first.Version, version, versionRecords)
	}
	r.note(line)
	return nil
}

// line returns the rows of the next line. It returns io.EOF after the last one if the archive is complete and unchanged.
func (r *reader) line() ([]ledger.Change, error) {
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, errTruncated
	} else if err != nil {
		return nil, err
	}
	b, err := parse(line)
	if err != nil {
		return nil, err
	}
	if b.End != nil {
		return nil, r.end(*b.End)
	}
	r.note(line)
	switch {
	case b.Allocation != nil:
		r.count.Allocations++
		_, rows, err := ledger.AllocationRows(b.Allocation)
		return rows, err
	case b.Quarantined != nil:
		r.count.Quarantined++
		row, err := b.Quarantined.row()
		return []ledger.Change{row}, err
	}
	r.count.Records++
	row, err := ledger.RecordRow(b.Record.Key, b.Record.Value)
	return []ledger.Change{row}, err
}

// parse reads a line, which has exactly one of the fields.
func parse(line []byte) (b body, err error) {
	// Earlier builds wrote resting for quarantined.
	if bytes.HasPrefix(line, []byte(`{"resting":`)) || bytes.HasPrefix(line, []byte(`{"end":`)) {
		line = bytes.Replace(line, []byte(`"resting":`), []byte(`"quarantined":`), 1)
	}
	if err := ledger.DecodeStrictly(bytes.NewReader(line), &b); err != nil {
		return b, fmt.Errorf("it cannot be read: %w", err)
	}
	fields := 0
	for _, set := range []bool{b.Allocation != nil, b.Quarantined != nil, b.Record != nil, b.End != nil} {
		if set {
			fields++
		}
	}
	if fields != 1 {
		return b, errFields
	}
	return b, nil
}

func (of *quarantine) row() (ledger.Change, error) {
	var last network.Owner
	if of.Last != "" {
		var err error
		if last, err = network.ParseOwner(of.Last); err != nil {
			return ledger.Change{}, err
		}
	}
	return ledger.QuarantineRow(of.Resource, of.Until, last)
}

// end compares the content with the last line.
func (r *reader) end(expected Summary) error {
	r.count.SHA256 = hex.EncodeToString(r.sum.Sum(nil))
	if expected != r.count {
		return errDamaged
	}
	if _, err := r.next(); err != nil {
		return err
	}
	return errors.New("there is more text after the end")
}

// contents has the rows of an archive that was read to its end, and those that occur twice.
type contents struct {
	Summary
	rows    []ledger.Change
	doubles []double
}

// double is a row that two lines contain.
type double struct {
	key         string
	line, first int
}

// String describes it for people.
func (d double) String() string {
	return fmt.Sprintf("it holds %s, which line %d holds already", ledger.Describe(d.key), d.first)
}

// readAll reads the rows of an archive.
func readAll(ctx context.Context, in io.Reader) (c contents, err error) {
	lines := map[string]int{}
	c.Summary, err = Read(in, func(line int, rows []ledger.Change) error {
		for _, row := range rows {
			place := row.Key
			if ledger.IsQuarantine(row) {
				place = "~" + place // it may be held as well, and is held then
			}
			if first, twice := lines[place]; twice {
				c.doubles = append(c.doubles, double{row.Key, line, first})
			} else {
				lines[place] = line
			}
			c.rows = append(c.rows, row)
		}
		return ctx.Err()
	})
	rows := len(c.rows)
	c.rows = slices.DeleteFunc(c.rows, func(row ledger.Change) bool { return lines[row.Key] > 0 && ledger.IsQuarantine(row) })
	c.Quarantined -= rows - len(c.rows)
	return c, err
}

// Verify reports mistakes in an archive: unreadable lines, and resources with two owners. It fails if in cannot be
// read.
func Verify(ctx context.Context, in io.Reader) (*ledger.Report, error) {
	c, err := readAll(ctx, in)
	report := &ledger.Report{
		Rows: len(c.rows), Allocations: c.Allocations, Quarantined: c.Quarantined, Records: c.Records,
		Held: len(c.rows) - c.Allocations - c.Quarantined - c.Records, More: len(c.doubles) > ledger.DefaultMaximumFaults,
	}
	fault := func(line int, problem, remedy string) {
		report.Faults = append(report.Faults, ledger.Fault{Key: fmt.Sprintf("line %d", line), Problem: problem, Remedy: remedy})
	}
	if line, ok := errors.AsType[*Error](err); ok {
		fault(line.Line, line.Err.Error(), "take another copy of the export: the lines after it are not reliable")
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	for _, d := range c.doubles[:min(len(c.doubles), ledger.DefaultMaximumFaults)] {
		fault(d.line, d.String(), "find out who uses it, and take the other line out of the ledger: this cannot be imported")
	}
	return report, nil
}
