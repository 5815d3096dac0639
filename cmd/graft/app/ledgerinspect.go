// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// ledgerStates are the states that can be looked for.
var ledgerStates = []string{string(network.Intended), string(network.Bound), string(network.Releasing), string(network.Resting)}

// ledgerInspectOptions are the flags of graft ledger inspect.
type ledgerInspectOptions struct {
	place   ledgerFlags
	query   ledger.Query
	address string
	state   string
	longer  time.Duration
	output  string
}

func newLedgerInspectCommand(s *Streams) *cobra.Command {
	o := &ledgerInspectOptions{}
	command := &cobra.Command{
		Use:   "inspect [path]",
		Short: "List allocations",
		Long: `List allocations with their owners, sorted by owner. Filters can be combined.

The path is the folder of a ledger or an export. An allocation is intended before the cloud has bound it, then bound, and releasing
until the cloud has unbound it. A released resource is in its cooldown (resting) for a while, in which only its last owner gets it:
--state resting lists these, and --address shows them, too.`,
		Example: `  # all allocations of an export
  graft ledger inspect example/network/ledger.jsonl

  # the owner of an address, and the allocations of a node
  graft ledger inspect example/network/ledger.jsonl --address 10.64.1.2
  graft ledger inspect example/network/ledger.jsonl --node worker-1 -o yaml

  # releases that take too long, and resources in their cooldown
  graft ledger inspect example/network/ledger.jsonl --state releasing --held-longer-than 1h
  graft ledger inspect example/network/ledger.jsonl --state resting

  # one JSON line for each allocation, for other tools
  graft ledger inspect example/network/ledger.jsonl --pool overlay --owner 'dranet/*' -o json`,
		Args: atMost("one path", 1),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command.Context(), s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	set.StringVar(&o.query.Pool, "pool", "", "only this pool")
	set.StringVar(&o.query.Owner, "owner", "", "only this owner, as <contract>/<key>, or a prefix with a star: 'dranet/*'")
	set.StringVar(&o.address, "address", "", "only the owner of this address, or the end of its cooldown")
	set.StringVar(&o.state, "state", "", "only this state: intended, bound, releasing or resting")
	set.StringVar(&o.query.Node, "node", "", "only this node")
	set.StringVar(&o.query.Namespace, "namespace", "", "only claims or Pods in this namespace")
	set.DurationVar(&o.longer, "held-longer-than", 0, "only allocations older than this, such as 72h")
	set.StringVarP(&o.output, "output", "o", "table", "output format: table, json, yaml")
	o.place.addTo(command, set)
	_ = command.RegisterFlagCompletionFunc("output", fixed("table", "json", "yaml"))
	_ = command.RegisterFlagCompletionFunc("state", fixed(ledgerStates...))
	for _, name := range []string{"pool", "owner", "address", "node", "namespace", "held-longer-than"} {
		_ = command.RegisterFlagCompletionFunc(name, fixed())
	}
	return command
}

// complete checks the flags.
func (o *ledgerInspectOptions) complete(now time.Time) (err error) {
	if err := choose(&o.output, o.output, "table", "json", "yaml"); err != nil {
		return fmt.Errorf("--output %s: %w", o.output, err)
	}
	if o.state != "" {
		if err := choose((*string)(&o.query.State), o.state, ledgerStates...); err != nil {
			return fmt.Errorf("--state %s: %w", o.state, err)
		}
	}
	if o.address != "" {
		if o.query.Address, err = netip.ParseAddr(o.address); err != nil {
			return fmt.Errorf("--address %s: must be an IP address", o.address)
		}
	}
	switch {
	case o.longer < 0:
		return errors.New("--held-longer-than: must not be negative")
	case o.longer > 0:
		o.query.Before = now.Add(-o.longer)
	}
	return nil
}

func (o *ledgerInspectOptions) run(ctx context.Context, s *Streams, arguments []string) (err error) {
	if err := o.complete(time.Now()); err != nil {
		return err
	}
	if err := o.place.named(arguments); err != nil {
		return err
	}
	k, err := o.place.open(ctx, s, looks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	list := newListing(s.Out, o.output, o.query.State == network.Resting)
	if err := k.search(ctx, o.query, list.add); err != nil {
		return errors.Join(err, list.breakOff())
	}
	return list.end()
}
