// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
)

// ledgerImportOptions are the flags of graft ledger import.
type ledgerImportOptions struct {
	place ledgerFlags
}

func newLedgerImportCommand(s *Streams) *cobra.Command {
	o := &ledgerImportOptions{}
	command := &cobra.Command{
		Use:   "import file",
		Short: "Import an export into an empty ledger",
		Long: `Import an export into an empty ledger, completely or not at all.

The whole export is checked before the first write. No server may use the ledger. If the command is interrupted, repeat it with the
same file.`,
		Example: `  # a new ledger
  graft ledger import example/network/ledger.jsonl --ledger ledger

  # a second import fails: the ledger is not empty
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger import example/network/ledger.jsonl --ledger ledger  # exit 2`,
		Args: exactly("an export", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), s, arguments[0])
		},
	}
	set := command.Flags()
	set.SortFlags = false
	o.place.addTo(command, set)
	return command
}

func (o *ledgerImportOptions) run(ctx context.Context, s *Streams, file string) (err error) {
	if err := o.place.named(nil); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
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
	done, err := archive.Import(ctx, into, in, progress.counted)
	progress.done()
	switch {
	case errors.Is(err, archive.ErrNotEmpty):
		return fmt.Errorf("%w: name an empty one", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(s.Err, "imported %s\n", amounts(done))
	return nil
}
