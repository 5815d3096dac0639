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
		Short: "Release the allocations of an owner",
		Long: `Release the allocations of an owner, in an emergency. If the owner still uses an address, it will share it with the next owner.

graft ledger inspect shows the owners. A running server releases the allocations at once, like a release by the caller, and unbinds
them in the cloud. Without a server they are marked as releasing; the next server that opens the ledger finishes the release. The
command does not ask for confirmation.

Exit status: 0; 1 if the owner has no allocation; 2 if the command failed.`,
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
