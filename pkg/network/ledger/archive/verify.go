// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Verify looks for what is wrong with an archive: a line that cannot be read, and things that two hold. It is read several times, each time
// opened anew. The error wraps ErrForeign when it is no archive.
func Verify(ctx context.Context, open func() (io.ReadCloser, error), progress func(lines int)) (*ledger.Report, error) {
	v := &verifier{importer: importer{open: open}, seed: maphash.MakeSeed(), report: &ledger.Report{}}
	if progress != nil {
		v.Progress = func(_ string, lines int) { progress(lines) }
	}
	summary, err := v.each(ctx, StepCheck, func(item Item) error {
		v.rows += len(item.Rows)
		return nil
	})
	v.report.Allocations, v.report.Resting = summary.Allocations, summary.Resting
	v.report.Records = summary.Records
	v.report.Held = v.rows - summary.Allocations - summary.Resting - summary.Records
	v.report.Rows = v.rows
	var line *Error
	if errors.As(err, &line) {
		v.fault(line.Line, line.Err.Error(), "take another copy of the export: what follows it cannot be trusted")
		return v.report, nil
	}
	if err != nil {
		return nil, err
	}
	return v.report, v.doubles(ctx)
}

type verifier struct {
	importer
	seed   maphash.Seed
	rows   int
	report *ledger.Report
}

func (v *verifier) fault(line int, problem, remedy string) {
	v.report.Faults = append(v.report.Faults, ledger.Fault{Key: fmt.Sprintf("line %d", line), Problem: problem, Remedy: remedy})
}

// atOneReading bounds the keys that are remembered by one reading, of 8 bytes each.
const atOneReading = 4 << 20

// doubles looks for rows that are there twice. Each reading looks at a part of them, by their hashes; what is there twice by its hash is
// looked at by its key.
func (v *verifier) doubles(ctx context.Context) error {
	parts := uint64(v.rows/atOneReading + 1)
	var twice []uint64
	for part := range parts {
		var seen []uint64
		_, err := v.each(ctx, StepCompare, func(item Item) error {
			for _, row := range item.Rows {
				if hash := maphash.String(v.seed, row.Key); hash%parts == part {
					seen = append(seen, hash)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		slices.Sort(seen)
		for i := 1; i < len(seen); i++ {
			if seen[i] == seen[i-1] {
				twice = append(twice, seen[i])
			}
		}
	}
	if len(twice) == 0 {
		return nil
	}
	slices.Sort(twice)
	return v.tell(ctx, twice)
}

// maximumDoubles bounds those that are told.
const maximumDoubles = 10_000

// tell finds the lines of rows that are there twice.
func (v *verifier) tell(ctx context.Context, twice []uint64) error {
	first := map[string]int{}
	_, err := v.each(ctx, StepCompare, func(item Item) error {
		for _, row := range item.Rows {
			if _, found := slices.BinarySearch(twice, maphash.String(v.seed, row.Key)); !found {
				continue
			}
			before, known := first[row.Key]
			switch {
			case !known && len(first) < maximumDoubles:
				first[row.Key] = item.Line
			case known && len(v.report.Faults) < maximumDoubles:
				v.fault(item.Line, fmt.Sprintf("it holds %s, which line %d does, too", ledger.NameOf(row.Key), before),
					"find out who uses it, and take the other line out of the ledger: this cannot be imported")
			default:
				v.report.More = true
			}
		}
		return nil
	})
	return err
}
