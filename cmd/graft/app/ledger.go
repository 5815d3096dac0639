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
		Short: "Inspect and repair the ledger of a network provider",
		Long: `Inspect and repair the ledger of a network provider.

A ledger stores the owners of addresses, VLANs and MAC addresses, in a folder of one server or in etcd. While a server uses the
folder, the commands send their requests to its socket and say so on standard error. Commands that only read also accept an export.`,
		Example: `  # allocations in an export
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
