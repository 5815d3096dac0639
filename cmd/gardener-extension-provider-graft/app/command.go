// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires gardener-extension-provider-graft: flags and component configuration become Options, and
// Options become a manager with the webhook server, the registration, the certificates, the reloader and the
// checks. The packages below make the decisions. Start reading at Main.
package app

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Name is the name of the program, its Service and its registration.
const Name = "gardener-extension-provider-graft"

// Main runs the program and returns its exit status: see serving.Main.
func Main(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
	limitGarbage()
	return serving.Main(ctx, NewCommand(version), arguments, stdout, stderr)
}

// NewCommand returns the program as a cobra command.
func NewCommand(version string) *cobra.Command {
	flags := NewFlags()
	command := shell.New(&cobra.Command{
		Use:   Name,
		Short: "Serve Gardener's control-plane webhooks from profiles",
		Long: `Serve Gardener's control-plane webhooks from profiles.

It runs in a seed cluster and mutates the control planes of shoots as ProviderProfiles say.
With a kubeconfig, --webhook-config-mode=url and an existing --webhook-config-namespace it runs outside of the cluster.`,
	}, version, func(c *cobra.Command) error {
		options, err := flags.Complete(c.Flags())
		if err != nil {
			return err
		}
		return Run(c.Context(), version, options)
	})
	flags.AddTo(command.Flags())
	return command
}
