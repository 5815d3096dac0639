// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft-network-provider: flags and configuration become Options, and Options become a store,
// the active profiles, the codecs and a server. Only this package knows concrete stores, clouds and codecs. The
// packages below make the decisions. Start reading at Main.
package app

import (
	"github.com/spf13/cobra"

	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Name is the name of the program.
const Name = "graft-network-provider"

// Main runs the program and returns its exit status.
var Main = shell.Main(NewCommand)

// NewCommand returns the program as a cobra command.
func NewCommand(version string) *cobra.Command {
	flags := NewFlags()
	command := shell.New(&cobra.Command{
		Use:   Name,
		Short: "Answer DRANET, Spiderpool and Docker from NetworkProfiles",
		Long: `Answer DRANET, Spiderpool and Docker from NetworkProfiles.

It gives addresses, MAC addresses and VLANs out of pools, asks the cloud behind a pool to deliver what is sent to them,
and remembers in a ledger who has what. It runs on each node, on a socket, or as a service for many nodes. For Docker it
is a network and IPAM driver, and makes the links of containers.`,
		Example: `  graft-network-provider --config /etc/graft/network-provider.yaml
  graft-network-provider --profiles acme.yaml --ledger /var/lib/graft/ledger --listen dranet=unix:///run/graft/dranet.sock --node worker-1
  graft-network-provider --profiles acme.yaml --listen docker=unix:///run/docker/plugins/graft.sock
  graft-network-provider --config /etc/graft/network-provider.yaml --check`,
	}, version, func(c *cobra.Command) error {
		options, err := flags.Complete(c.Flags())
		if err != nil {
			return err
		}
		if options.CheckOnly {
			return options.Check(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		}
		return Run(c.Context(), version, options, c.ErrOrStderr())
	})
	flags.AddTo(command.Flags())
	return command
}
