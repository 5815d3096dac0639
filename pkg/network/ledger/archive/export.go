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
	// Progress is told now and then how many rows were read; nil: nobody is.
	Progress func(rows int)
}

// Exported is what was exported.
type Exported struct {
	Summary
	// Broken are the rows that were left out. Even says that the rest of the rows fit together; where they do not, not all of it is in the
	// archive, and Verify says what is wrong.
	Broken int  `json:"broken,omitempty"`
	Even   bool `json:"even"`
}

// Export writes what a store holds, in the order of its rows. Others may write meanwhile: it is what was there at one time where the store
// gives that.
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
