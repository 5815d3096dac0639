// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft-resource-interpreter: flags and configuration become Options, and Options become
// active profiles, a certificate, a server and a registration. Only this package knows clusters and files. The
// packages below make the decisions. Start reading at Main.
package app

import (
	"github.com/spf13/cobra"

	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Name is the name of the program.
const Name = "graft-resource-interpreter"

// Main runs the program and returns its exit status.
var Main = shell.Main(NewCommand)

// NewCommand returns the program as a cobra command.
func NewCommand(version string) *cobra.Command {
	flags := &Flags{}
	command := shell.New(&cobra.Command{
		Use:   Name,
		Short: "Answer Karmada from InterpreterProfiles",
		Long: `Answer Karmada from InterpreterProfiles.

It is a resource interpreter webhook: it tells Karmada of a kind of objects how many replicas there are, what must come along,
what a member cluster decides, what of the status is reflected, and whether an object is healthy. It knows Gardener's kinds
without a profile. It issues its own certificate where nobody else does, and keeps its registration in Karmada current.`,
		Example: `  graft-resource-interpreter --profiles acme.yaml --certificate-folder /tmp/graft
  graft-resource-interpreter --config /etc/graft/resource-interpreter.yaml
  graft-resource-interpreter --certificate-secret graft-system/interpreter --register graft --url https://interpreter.example.com/interpret
  graft-resource-interpreter --config /etc/graft/resource-interpreter.yaml --check`,
	}, version, func(c *cobra.Command) error {
		options, err := flags.Complete(c.Flags())
		switch {
		case err != nil:
			return err
		case options.CheckOnly:
			return options.Check(c.OutOrStdout())
		case options.Unregister:
			return options.Installation.Unregister(c.Context(), c.OutOrStdout())
		default:
			return Run(c.Context(), version, options, c.ErrOrStderr())
		}
	})
	flags.AddTo(command.Flags())
	return command
}
