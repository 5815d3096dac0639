// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/spf13/cobra"
)

func newLedgerCommand(s *Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "ledger",
		Short: "Look into the ledger of a network provider, and tend it",
		Long: `Look into the ledger of a network provider, and tend it.

A ledger is the memory of who holds which addresses, VLANs and MAC addresses. It is a folder that one server has, or a part of
etcd. While a server has the folder, the commands ask the server, by the socket beside it: they say so on standard error.

Where a path is asked for, an export is read, too, by the commands that only look.`,
		Example: `  # who holds what, in an export
  graft ledger inspect example/network/ledger.jsonl`,
		Args: unknownCommand,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, below := range []func(*Streams) *cobra.Command{
		newLedgerInspectCommand,
		newLedgerExportCommand,
		newLedgerImportCommand,
		newLedgerVerifyCommand,
		newLedgerReleaseCommand,
		newLedgerGCCommand,
	} {
		command.AddCommand(below(s))
	}
	return command
}
