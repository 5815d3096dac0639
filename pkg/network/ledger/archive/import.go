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

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ErrForeign means that a file is not an export of a ledger.
var ErrForeign = errors.New("it is not an export of a ledger")

var (
	errTruncated = errors.New("the end is missing: the export was not finished, or not copied whole")
	errDamaged   = errors.New("the export was changed or damaged: its contents do not match its last line; take another copy")
	errEnd       = errors.New("the archive ended as expected")
	errFields    = errors.New("a line must have exactly one of allocation, quarantined, record and end")
)

// Import reads an archive and writes it into an empty store, completely or not at all. After an interruption, no
// program opens the store until the import was repeated with the same archive. The store is opened after the check of
// the archive, and the caller closes it. It fails if the archive is invalid, with the line; with ErrForeign; with
// ledger.ErrFormat for an archive of a newer version; or with ledger.ErrNotEmpty.
func Import(ctx context.Context, into func() (ledger.Store, error), in io.Reader) (Summary, error) {
	r := newReader(in)
	if err := r.readAll(ctx); err != nil {
		return r.count, fmt.Errorf("checking the export: %w", err)
	}
	store, err := into()
	if err != nil {
		return r.count, err
	}
	if err := ledger.BeginImport(ctx, store, r.count.SHA256); err != nil {
		return r.count, err
	}
	if err := write(ctx, store, r.rows); err != nil {
		return r.count, fmt.Errorf("importing: %w; repeat it with the same file", err)
	}
	return r.count, ledger.EndImport(ctx, store, r.count.SHA256)
}

// reader reads an archive line by line.
type reader struct {
	lines  *bufio.Scanner
	number int
	sum    hash.Hash
	count  Summary
	rows   []ledger.Change
	// held and quarantined have the lines of the rows by key.
	held, quarantined map[string]int
}

func newReader(in io.Reader) *reader {
	r := &reader{lines: bufio.NewScanner(in), sum: sha256.New(), held: map[string]int{}, quarantined: map[string]int{}}
	r.lines.Buffer(make([]byte, 0, 1<<16), maximumLine+1)
	return r
}

// readAll reads and checks the archive to its end. A resource that is held and in quarantine is held then.
func (r *reader) readAll(ctx context.Context) error {
	err := r.head()
	for err == nil {
		if err = r.line(); err == nil {
			err = ctx.Err()
		}
	}
	switch {
	case errors.Is(err, ErrForeign), errors.Is(err, ledger.ErrFormat):
		return err
	case !errors.Is(err, errEnd):
		return fmt.Errorf("line %d: %w", r.number, err)
	}
	rows := len(r.rows)
	r.rows = slices.DeleteFunc(r.rows, func(row ledger.Change) bool { return r.held[row.Key] > 0 && ledger.IsQuarantine(row) })
	r.count.Quarantined -= rows - len(r.rows)
	return nil
}

// next returns the next line without its end, or errTruncated.
func (r *reader) next() ([]byte, error) {
	r.number++
	if r.lines.Scan() {
		return r.lines.Bytes(), nil
	}
	return nil, cmp.Or(r.lines.Err(), errTruncated)
}

func (r *reader) note(line []byte) {
	_, _ = r.sum.Write(line) // never fails
	_, _ = r.sum.Write([]byte("\n"))
}

func (r *reader) head() error {
	var first head
	line, err := r.next()
	switch {
	case errors.Is(err, errTruncated), errors.Is(err, bufio.ErrTooLong):
		return ErrForeign
	case err != nil:
		return err
	case json.Unmarshal(line, &first) != nil || first.Format != formatName:
		return ErrForeign
	case first.Version != version && first.Version != versionRecords:
		return fmt.Errorf("%w: the export has version %d, but this version of Graft reads %d and %d",
			ledger.ErrFormat, first.Version, version, versionRecords)
	}
	r.note(line)
	return nil
}

// line reads the rows of the next line. It returns errEnd after the last one if the archive is complete and unchanged.
func (r *reader) line() error {
	line, err := r.next()
	if err != nil {
		return err
	}
	b, err := parse(line)
	if err != nil {
		return err
	}
	if b.End != nil {
		return r.end(*b.End)
	}
	r.note(line)
	rows := make([]ledger.Change, 1)
	switch {
	case b.Allocation != nil:
		r.count.Allocations++
		rows, err = ledger.AllocationRows(b.Allocation)
	case b.Quarantined != nil:
		r.count.Quarantined++
		rows[0], err = b.Quarantined.row()
	default:
		r.count.Records++
		rows[0], err = ledger.RecordRow(b.Record.Key, b.Record.Value)
	}
	if err != nil {
		return err
	}
	for _, row := range rows {
		lines := r.held
		if ledger.IsQuarantine(row) {
			lines = r.quarantined
		}
		if first, twice := lines[row.Key]; twice {
			return fmt.Errorf("it holds %s, which line %d holds already", ledger.Describe(row.Key), first)
		}
		lines[row.Key] = r.number
	}
	r.rows = append(r.rows, rows...)
	return nil
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
	if _, err := r.next(); errors.Is(err, errTruncated) {
		return errEnd
	} else if err != nil {
		return err
	}
	return errors.New("there is more text after the end")
}

// parallel is the number of concurrent commits of an import: stores commit several with one flush.
const parallel = 32

func write(ctx context.Context, store ledger.Store, rows []ledger.Change) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for part := range slices.Chunk(rows, ledger.Batch(store)) {
		group.Go(func() error { return commit(ctx, store, part) })
	}
	return group.Wait()
}

// commit writes rows, except those that an interrupted import has written. Rows that the store does not accept together are written one
// by one.
func commit(ctx context.Context, store ledger.Store, rows []ledger.Change) error {
	err := store.Commit(ctx, rows...)
	conflict := errors.Is(err, ledger.ErrConflict)
	if len(rows) > 1 && (conflict || errors.Is(err, ledger.ErrTooLarge)) {
		for i := range rows {
			if err := commit(ctx, store, rows[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if !conflict {
		return err
	}
	value, err := store.Get(ctx, rows[0].Key)
	if err == nil && !bytes.Equal(value, rows[0].Value) {
		err = fmt.Errorf("the ledger has another value for %s", ledger.Describe(rows[0].Key))
	}
	return err
}
