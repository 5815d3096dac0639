// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft-network-provider: flags and configuration become Options, Options become a store, what is in force, the codecs
// and a server. It alone knows concrete stores, clouds and codecs. Decisions are made in the packages below. Enter at Main.
package app

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Name is the name of the program.
const Name = "graft-network-provider"

// Main runs the program and gives its exit status: see serving.Main.
func Main(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
	return serving.Main(ctx, NewCommand(version), arguments, stdout, stderr)
}

// NewCommand is the program as a cobra command.
func NewCommand(version string) *cobra.Command {
	flags := NewFlags()
	command := &cobra.Command{
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
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			options, err := flags.Complete(command.Flags())
			switch {
			case err != nil:
				return err
			case options.CheckOnly:
				return options.Check(command.Context(), command.OutOrStdout(), command.ErrOrStderr())
			default:
				return Run(command.Context(), version, options, command.ErrOrStderr())
			}
		},
	}
	flags.AddTo(command.Flags())
	command.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	return command
}
