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

// contents is an archive that was read to its end: its rows, and those that are there twice.
type contents struct {
	Summary
	rows    []ledger.Change
	doubles []double
}

// double is a row of two lines.
type double struct {
	key         string
	line, first int
}

// String describes it for people.
func (d double) String() string {
	return fmt.Sprintf("it holds %s, which line %d does, too", ledger.NameOf(d.key), d.first)
}

// read reads an archive to its end. The error is an *Error for a line that cannot be read, and wraps ErrForeign for something that is no archive.
func read(ctx context.Context, in io.Reader, progress func(lines int)) (c contents, err error) {
	lines := map[string]int{}
	c.Summary, err = Check(in, func(item Item) error {
		if item.Line%4096 == 0 && progress != nil {
			progress(item.Line)
		}
		for _, row := range item.Rows {
			if first, twice := lines[row.Key]; twice {
				c.doubles = append(c.doubles, double{row.Key, item.Line, first})
			} else {
				lines[row.Key] = item.Line
			}
			c.rows = append(c.rows, row)
		}
		return ctx.Err()
	})
	return c, err
}

// maximumFaults limits the faults of a report.
const maximumFaults = 10_000

// Verify reports mistakes in an archive: unreadable lines, and resources with two owners.
func Verify(ctx context.Context, in io.Reader, progress func(lines int)) (*ledger.Report, error) {
	c, err := read(ctx, in, progress)
	report := &ledger.Report{
		Rows: len(c.rows), Allocations: c.Allocations, Resting: c.Resting, Records: c.Records,
		Held: len(c.rows) - c.Allocations - c.Resting - c.Records, More: len(c.doubles) > maximumFaults,
	}
	fault := func(line int, problem, remedy string) {
		report.Faults = append(report.Faults, ledger.Fault{Key: fmt.Sprintf("line %d", line), Problem: problem, Remedy: remedy})
	}
	if line, ok := errors.AsType[*Error](err); ok {
		fault(line.Line, line.Err.Error(), "take another copy of the export: what follows it cannot be trusted")
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	for _, d := range c.doubles[:min(len(c.doubles), maximumFaults)] {
		fault(d.line, d.String(), "find out who uses it, and take the other line out of the ledger: this cannot be imported")
	}
	return report, nil
}
