// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ExportOptions say how a ledger is exported.
type ExportOptions struct {
	// Broken is told of rows that cannot be read, which are left out then; nil: such a row is an error.
	Broken func(*ledger.BrokenRow)
	// Progress is called periodically with the number of rows read; it may be nil.
	Progress func(rows int)
}

// Exported describes an export.
type Exported struct {
	Summary
	// Broken is the number of omitted rows. Even means that the remaining rows are consistent; otherwise the archive is
	// incomplete, and Verify reports the reason.
	Broken int  `json:"broken,omitempty"`
	Even   bool `json:"even"`
}

// Export writes the content of a store in the order of its rows. Concurrent writes are allowed: the export is a
// snapshot if the store supports them.
func Export(ctx context.Context, store ledger.Store, out io.Writer, o ExportOptions) (Exported, error) {
	var done Exported
	if err := ledger.CheckFormat(ctx, store); err != nil {
		return done, err
	}
	records, err := ledger.HasRecords(ctx, store)
	if err != nil {
		return done, err
	}
	begin := NewWriter
	if records {
		begin = NewRecordsWriter
	}
	w, err := begin(out)
	if err != nil {
		return done, fmt.Errorf("writing the export: %w", err)
	}
	rows := 0
	done.Even, err = ledger.Walk(ctx, store, func(e ledger.Entry, broken *ledger.BrokenRow) error {
		if rows++; o.Progress != nil && rows%4096 == 0 {
			o.Progress(rows)
		}
		switch {
		case broken != nil && o.Broken == nil:
			return broken
		case broken != nil:
			done.Broken++
			o.Broken(broken)
			return nil
		case e.Record:
			return writing(w.Record(e.Key, e.Value))
		case e.Allocation != nil:
			return writing(w.Allocation(e.Value))
		case !e.Until.IsZero():
			return writing(w.Resting(e.Thing, e.Until, e.Last))
		}
		return nil
	})
	if err != nil {
		return done, err
	}
	done.Summary, err = w.Close()
	return done, writing(err)
}

func writing(err error) error {
	if err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	return nil
}
