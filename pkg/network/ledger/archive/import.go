// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ImportOptions say how an archive is imported.
type ImportOptions struct {
	// Merge adds to what the ledger has, rather than to refuse one that is not empty.
	Merge bool
	// Progress is told now and then what is done, and how many lines of it; nil: nobody is.
	Progress func(step string, lines int)
}

// The steps that Progress is told of.
const (
	StepCheck   = "checked"
	StepCompare = "compared"
	StepWrite   = "written"
	StepUndo    = "undone"
)

// ErrNotEmpty says that a ledger has rows already.
var ErrNotEmpty = errors.New("the ledger is not empty")

// Conflict is the error of what a ledger has already, or what an archive holds twice.
type Conflict struct{ what string }

// Error implements error.
func (c *Conflict) Error() string { return c.what }

// importer is one import.
type importer struct {
	ImportOptions
	store ledger.Store
	open  func() (io.ReadCloser, error)
	sum   string
}

// Import reads an archive into a store: all of it or nothing. It is read several times, each time opened anew. The archive is checked first,
// and nothing is written when anything is wrong with it. The error wraps ErrNotEmpty, a Conflict, or an Error with the line. When it is broken
// off on the way, nothing opens the ledger until the import of the same archive is repeated. The store is asked for once the archive is known
// to be right; who gives it closes it.
func Import(ctx context.Context, into func() (ledger.Store, error), open func() (io.ReadCloser, error), o ImportOptions) (Summary, error) {
	m := &importer{ImportOptions: o, open: open}
	summary, err := m.each(ctx, StepCheck, func(Item) error { return nil })
	if err != nil {
		return summary, fmt.Errorf("checking the export: %w", err)
	}
	m.sum = summary.SHA256
	if m.store, err = into(); err != nil {
		return summary, err
	}
	if err := m.begin(ctx); err != nil {
		return summary, err
	}
	last, err := m.write(ctx)
	var conflict *Conflict
	if errors.As(err, &conflict) {
		if err := m.undo(ctx, last); err != nil {
			return summary, fmt.Errorf("undoing the import after a conflict (%w): %w", conflict, err)
		}
	} else if err != nil {
		return summary, fmt.Errorf("importing: %w; repeat it with the same file", err)
	}
	return summary, errors.Join(err, ledger.EndImport(ctx, m.store, m.sum))
}

// each reads the archive once.
func (m *importer) each(ctx context.Context, step string, each func(Item) error) (Summary, error) {
	in, err := m.open()
	if err != nil {
		return Summary{}, err
	}
	defer func() { _ = in.Close() }()
	lines := 0
	return Check(in, func(item Item) error {
		if lines++; m.Progress != nil && lines%1024 == 0 {
			m.Progress(step, lines)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return each(item)
	})
}

// begin marks the store, where it may be imported into.
func (m *importer) begin(ctx context.Context) error {
	pending, err := ledger.Importing(ctx, m.store)
	if err != nil {
		return err
	}
	switch pending {
	case m.sum:
		return nil // what is there was compared before it began
	case "":
	default:
		return fmt.Errorf("%w (its checksum is %s); or begin with an empty ledger", ledger.ErrImporting, pending)
	}
	empty, err := ledger.Empty(ctx, m.store)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	if !empty && !m.Merge {
		return ErrNotEmpty
	}
	if !empty {
		if err := m.compare(ctx); err != nil {
			return err
		}
	}
	return ledger.BeginImport(ctx, m.store, m.sum)
}

// maximumConflicts bounds those that are told.
const maximumConflicts = 10

// compare looks for rows of the archive that the store has already.
func (m *importer) compare(ctx context.Context) error {
	var problems []error
	found := 0
	_, err := m.each(ctx, StepCompare, func(item Item) error {
		for _, row := range item.Rows {
			what, _, err := ledger.Stands(ctx, m.store, row)
			if err != nil {
				return fmt.Errorf("reading the ledger: %w", err)
			}
			if what == "" {
				continue
			}
			if found++; found <= maximumConflicts {
				problems = append(problems, &Error{item.Line, &Conflict{what}})
			}
			break // one for each line
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found > maximumConflicts {
		problems = append(problems, &Conflict{fmt.Sprintf("%d lines more are in the way", found-maximumConflicts)})
	}
	return errors.Join(problems...)
}
