// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Main runs a program's command and returns its exit status. It writes findings in documents to stderr, one per
// line like a compiler, independent of the log format.
func Main(ctx context.Context, command *cobra.Command, arguments []string, stdout, stderr io.Writer) int {
	command.SetArgs(arguments)
	command.SetOut(stdout)
	command.SetErr(stderr)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	message := "Error: " + err.Error()
	if findings, ok := errors.AsType[source.Findings](err); ok {
		message = findings.Error()
	}
	fmt.Fprintln(stderr, message)
	return 1
}
