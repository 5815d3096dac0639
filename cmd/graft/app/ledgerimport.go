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

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
)

// ledgerImportOptions are the flags of graft ledger import.
type ledgerImportOptions struct {
	place ledgerFlags
	merge bool
}

func newLedgerImportCommand(s *Streams) *cobra.Command {
	o := &ledgerImportOptions{}
	command := &cobra.Command{
		Use:   "import file",
		Short: "Read an export into an empty ledger",
		Long: `Read an export into an empty ledger: all of it or nothing.

The export is checked to its end before anything is written. No server may have the ledger: nothing opens it before all is
written. When the command is broken off, repeat it with the same file. --merge reads into a ledger that is not empty, when nothing
of the export is in its way.`,
		Example: `  # a new ledger
  graft ledger import example/network/ledger.jsonl --ledger ledger

  # and once more: it is not empty any more
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger import example/network/ledger.jsonl --ledger ledger  # exit 2`,
		Args: exactly("an export", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), s, arguments[0])
		},
	}
	set := command.Flags()
	set.SortFlags = false
	set.BoolVar(&o.merge, "merge", false, "add to what the ledger holds")
	o.place.addTo(command, set)
	return command
}

func (o *ledgerImportOptions) run(ctx context.Context, s *Streams, file string) (err error) {
	if err := o.place.named(nil); err != nil {
		return err
	}
	if info, err := os.Stat(file); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file: an export is read more than once", file)
	}
	var k keeper
	defer func() {
		if k != nil {
			err = errors.Join(err, k.close())
		}
	}()
	progress := newMeter(s, "line")
	into := func() (ledger.Store, error) {
		if k, err = o.place.open(ctx, s, founds); err != nil {
			return nil, err
		}
		return k.(*opened).store, nil
	}
	done, err := archive.Import(ctx, into, func() (io.ReadCloser, error) { return os.Open(file) },
		archive.ImportOptions{Merge: o.merge, Progress: progress.counted})
	progress.done()
	switch {
	case errors.Is(err, archive.ErrNotEmpty):
		return fmt.Errorf("%w: name an empty one, or add to what it holds with --merge", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(s.Err, "imported %s\n", amounts(done))
	return nil
}
