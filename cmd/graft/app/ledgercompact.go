// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newLedgerCompactCommand(s *Streams) *cobra.Command {
	place := &ledgerFlags{}
	command := &cobra.Command{
		Use:   "compact [path]",
		Short: "Give the room of what is gone back to the disk",
		Long: `Give the room of what is gone back to the disk.

A ledger tidies itself up as it is written to. After very much was released at once, this does all of it now. It needs as much
room again as the ledger takes, while it runs. The server may go on meanwhile. A ledger in etcd is compacted by etcd.`,
		Example: `  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger compact ledger`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := place.named(arguments); err != nil {
				return err
			}
			return place.compact(command.Context(), s)
		},
	}
	command.Flags().SortFlags = false
	place.addTo(command, command.Flags())
	return command
}

func (f *ledgerFlags) compact(ctx context.Context, s *Streams) (err error) {
	k, err := f.open(ctx, s, tends)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	done, err := k.compact(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s before, %s after\n", bytesOf(done.Before), bytesOf(done.After))
	return nil
}

// bytesOf is a number of bytes for people.
func bytesOf(count int64) string {
	value, unit := float64(count), 0
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	for ; value >= 1000 && unit < len(units)-1; unit++ {
		value /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", count)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
