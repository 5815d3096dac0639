// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft: each command has a file that turns its flags into calls of pkg/workbench, which contains the
// logic. Start reading at Main.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Main runs graft and returns its exit status: 0 for success, 1 for findings (invalid profiles, failing tests, denied
// objects), 2 for errors, 130 after an interruption.
func Main(version string, arguments []string, s *Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := NewCommand(version, s)
	command.SetArgs(arguments)
	return s.guarded(func() int {
		err := command.ExecuteContext(ctx)
		if ctx.Err() != nil {
			fmt.Fprintln(s.Err, "interrupted")
			return statusInterrupted
		}
		return s.report(err)
	})
}

// The exit statuses.
const (
	statusFound       = 1
	statusFailed      = 2
	statusInterrupted = 130
)

// found is the error of a command that succeeded and has findings. Its message is empty if the output already contains
// it.
type found struct{ message string }

func (f found) Error() string { return f.message }

// report writes the error and returns the exit status.
func (s *Streams) report(err error) int {
	if err == nil {
		return 0
	}
	var (
		result   found
		findings source.Findings
		panicked *profile.Panic
	)
	switch {
	case errors.As(err, &result):
		if result.message != "" {
			fmt.Fprintln(s.Err, result.message)
		}
		return statusFound
	case errors.As(err, &findings):
		fmt.Fprintln(s.Err, findings.Error())
		return statusFailed
	case errors.As(err, &panicked):
		return s.crashed(panicked, panicked.Stack)
	default:
		fmt.Fprintln(s.Err, "Error: "+plain(err))
		return statusFailed
	}
}

// NewCommand returns graft as a cobra command.
func NewCommand(version string, s *Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "graft",
		Short: "Preview, explain, check and test provider profiles",
		Long: `Preview, explain, check and test provider profiles.

graft runs the engine of the webhook on your machine. No cluster is needed unless you name one.`,
		Version:       version,
		Args:          unknownCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.PersistentFlags().Var(&s.colour, "color", "colour the output: auto (on a terminal), always or never")
	root.SetFlagErrorFunc(unknownFlag)
	root.CompletionOptions.DisableDefaultCmd = true
	for _, command := range []func(*Streams) *cobra.Command{
		newRenderCommand,
		newDiffCommand,
		newExplainCommand,
		newCompareCommand,
		newDriftCommand,
		newConvertCommand,
		newInitCommand,
		newSchemaCommand,
		newTestCommand,
		newLintCommand,
		newInterpreterCommand,
		newRBACCommand,
		newPackCommand,
		newLedgerCommand,
		newCompletionCommand,
	} {
		root.AddCommand(command(s))
	}
	completeValues(root)
	return root
}
