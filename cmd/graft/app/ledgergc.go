// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
)

// ledgerGCOptions are the flags of graft ledger gc.
type ledgerGCOptions struct {
	place  ledgerFlags
	dryRun bool
}

func newLedgerGCCommand(s *Streams) *cobra.Command {
	o := &ledgerGCOptions{place: ledgerFlags{forServersAlone: true}}
	command := &cobra.Command{
		Use:   "gc",
		Short: "Release the allocations of deleted claims and Pods",
		Long: `Release the allocations of deleted claims and Pods.

The command asks a running server with a Kubernetes client, through its socket. It lists each allocation with the reason. --dry-run
releases nothing; its exit status is 1 if there are such allocations.`,
		Example: `  # allocations that would be released (there is no server here)
  graft ledger gc --dry-run --server unix:///run/graft/ledger.sock  # exit 2`,
		Args: atMost("no argument", 0),
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), s) },
	}
	set := command.Flags()
	set.SortFlags = false
	set.BoolVar(&o.dryRun, "dry-run", false, "release nothing")
	o.place.addTo(command, set)
	return command
}

func (o *ledgerGCOptions) run(ctx context.Context, s *Streams) (err error) {
	if err := o.place.named(nil); err != nil {
		return err
	}
	address := o.place.server
	if address == "" {
		path, err := absolutePath(remote.Socket(o.place.path))
		if err != nil {
			return err
		}
		address = "unix://" + path
	}
	client, err := remote.Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	list, count := newListing(s.Out, "table", false), 0
	list.rows[0] = append(list.rows[0], "REASON", "RELEASED")
	err = client.GC(ctx, o.dryRun, func(suspect remote.Suspect) error {
		count++
		released := "no"
		if suspect.Freed {
			released = "yes"
		}
		return list.addRow(append(cells(ledger.Entry{Allocation: &suspect.Allocation}), suspect.Reason, released))
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server runs at %s, and only a running one knows who lives: start graft-network-provider, or name its socket by --server", address)
	}
	if err != nil {
		return errors.Join(err, list.breakOff())
	}
	if count == 0 {
		fmt.Fprintln(s.Out, "Everybody lives who holds something.")
		return nil
	}
	if err := list.end(); err != nil {
		return err
	}
	if o.dryRun {
		return found{}
	}
	return nil
}
