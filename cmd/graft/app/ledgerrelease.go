// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

func newLedgerReleaseCommand(s *Streams) *cobra.Command {
	place := &ledgerFlags{}
	command := &cobra.Command{
		Use:   "release owner",
		Short: "Take back what an owner holds",
		Long: `Take back what an owner holds, in an emergency: whoever still uses it will share it with the next one who is given it.

The owner is as graft ledger inspect shows it. Through the server it is released at once, as if its caller had asked for it, and
the cloud is told. Without a server it is noted that it is given back; the server that opens the ledger next does the rest. It
is done without a question; look first with graft ledger inspect --owner.

Exit status 1 says that the owner holds nothing.`,
		Example: `  # a ledger without a server
  graft ledger import example/network/ledger.jsonl --ledger ledger && \
    graft ledger release dranet/a7b1c0de/pci/0000:27:00.1 --ledger ledger`,
		Args: exactly("an owner", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := place.named(nil); err != nil {
				return err
			}
			return place.release(command.Context(), s, arguments[0])
		},
	}
	command.Flags().SortFlags = false
	place.addTo(command, command.Flags())
	return command
}

func (f *ledgerFlags) release(ctx context.Context, s *Streams, text string) (err error) {
	owner, err := network.ParseOwner(text)
	if err != nil {
		return fmt.Errorf("%q: %w, as `graft ledger inspect` shows it", text, err)
	}
	k, err := f.open(ctx, s, tends)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	a, done, err := k.release(ctx, owner)
	if errors.Is(err, network.ErrNotHeld) {
		return found{owner.String() + " holds nothing"}
	}
	if err != nil {
		return err
	}
	list := newListing(s.Out, "table", false)
	if err := errors.Join(list.add(ledger.Entry{Allocation: &a, Owner: owner}), list.end()); err != nil {
		return err
	}
	switch {
	case done:
		fmt.Fprintln(s.Err, "released")
	case len(f.endpoints) > 0:
		fmt.Fprintln(s.Err, "noted that it is given back: a server that shares the ledger releases it when it starts, and tells the cloud")
	default:
		fmt.Fprintln(s.Err, "noted that it is given back: the server that opens the ledger next releases it, and tells the cloud")
	}
	return nil
}
