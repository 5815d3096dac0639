// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
)

// ledgerExportOptions are the flags of graft ledger export.
type ledgerExportOptions struct {
	place    ledgerFlags
	file     string
	leaveOut bool
}

func newLedgerExportCommand(s *Streams) *cobra.Command {
	o := &ledgerExportOptions{}
	command := &cobra.Command{
		Use:   "export [path]",
		Short: "Write a ledger to a file",
		Long: `Write a ledger to a file: as a backup, for another store, or for other tools.

An export has JSON lines: a header, one line for each allocation, each resource in its cooldown and each record, such as a container
network, and a checksum. The same ledger gives the same bytes. The server may continue to run.

Exit status: 0; 1 if rows are missing or inconsistent (see graft ledger verify); 2 if the command failed.`,
		Example: `  # a backup
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger export ledger --output-file copy.jsonl

  # number of allocations of one pool
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger export ledger | grep -c '"pool":"overlay"'`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command.Context(), s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	set.StringVar(&o.file, "output-file", "", "file to write instead of standard output; it is written completely or not at all")
	set.BoolVar(&o.place.oldCopy, "old-copy", false, "read a folder whose file is older than its newest commit, such as a restored copy: "+
		"later allocations are not in the export, and may be allocated twice")
	set.BoolVar(&o.leaveOut, "leave-out-broken", false, "leave out unreadable rows instead of failing")
	o.place.addTo(command, set)
	return command
}

func (o *ledgerExportOptions) run(ctx context.Context, s *Streams, arguments []string) (err error) {
	if err := o.place.named(arguments); err != nil {
		return err
	}
	k, err := o.place.open(ctx, s, looks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	progress := newMeter(s, "row")
	options := archive.ExportOptions{Progress: progress.count}
	if o.leaveOut {
		options.Broken = func(b *ledger.BrokenRow) { fmt.Fprintf(s.Err, "left out: the row %s: %s\n", b.Key, b.Err) }
	}
	var done archive.Exported
	write := func(out io.Writer) (err error) {
		done, err = k.export(ctx, out, options)
		return err
	}
	if o.file == "" {
		err = write(s.Out)
	} else {
		err = streamFile(o.file, write)
	}
	progress.done()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "exported %s\n", amounts(done.Summary))
	if done.Broken > 0 {
		return found{fmt.Sprintf("%s left out: `graft ledger verify` says more", plural(done.Broken, "row that cannot be read was", "rows that cannot be read were"))}
	}
	if !done.Even {
		return found{"the rows of the ledger are inconsistent, and the export may be incomplete: run `graft ledger verify`"}
	}
	return nil
}

// amounts describes the size of a ledger or an export.
func amounts(s archive.Summary) string {
	held, rest := plural(s.Allocations, "allocation", "allocations"), plural(s.Resting, "thing that rests", "things that rest")
	if s.Records > 0 {
		return held + ", " + rest + ", and " + plural(s.Records, "record", "records")
	}
	return held + ", and " + rest
}

// plural returns a number with its noun.
func plural(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

// streamFile writes a file that is there whole or not at all, however long it is. Only its owner may read it.
func streamFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Unwrap(err))
	}
	return nil
}
