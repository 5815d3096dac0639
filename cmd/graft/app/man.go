// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/manual"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

func newManCommand(*Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write man pages",
		Long: `Write a man page for each command into a folder.

The pages bear the day of the commit that graft was built from, or that of SOURCE_DATE_EPOCH, so that the same release writes the
same bytes. To read them where they are, for instance:

  man -M share/man graft-diff`,
		Example: "  graft completion man share/man/man1",
		Args:    exactly("a folder", 1),
		RunE: func(command *cobra.Command, arguments []string) error {
			release := manual.Release{Version: command.Root().Version, Day: manual.Day(os.Getenv)}
			for _, page := range manual.Commands(command.Root()) {
				path := filepath.Join(arguments[0], manual.ManName(page))
				if err := whole.WriteDeep(path, manual.Man(page, release)); err != nil {
					return fmt.Errorf("writing a man page: %w", err)
				}
			}
			return nil
		},
	}
}
