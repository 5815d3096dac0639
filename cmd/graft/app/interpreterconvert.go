// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/convert"
)

func newInterpreterConvertCommand(s *Streams) *cobra.Command {
	name := "converted"
	command := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write an InterpreterProfile for customizations in Lua",
		Long: `Write an InterpreterProfile for customizations in Lua.

The file has ResourceInterpreterCustomizations of Karmada. The common forms are converted: replicas and the requirements of a Pod
template, setting replicas, health by comparisons and conditions, copied statuses and retained fields. The command prints the line of
each other script; write its rules by hand.`,
		Example: `  # a profile for a customization
  graft interpreter convert example/interpreter/lua/queue.yaml --name acme`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			customizations, err := disk.ReadStream(arguments[0], disk.DocumentSize)
			if err != nil {
				return err
			}
			profile, problems, err := convert.Profile(name, customizations)
			if err != nil {
				return fmt.Errorf("converting %s: %w", arguments[0], err)
			}
			for _, problem := range problems {
				fmt.Fprintln(s.Err, problem)
			}
			_, err = s.Out.Write(profile)
			return err
		},
	}
	command.Flags().StringVar(&name, "name", name, "name of the profile")
	return command
}
