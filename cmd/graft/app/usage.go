// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// unknownCommand refuses arguments of a command that only has commands below it.
func unknownCommand(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	var known []string
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() {
			known = append(known, below.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s; `%s --help` lists the commands", arguments[0], source.Suggest(arguments[0], known), command.CommandPath())
}

// unknownFlag explains an unknown flag: it suggests a similar one, or names the list of flags.
func unknownFlag(command *cobra.Command, err error) error {
	suggestion := ""
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && len(missing.GetSpecifiedName()) > 1 {
		var known []string
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				known = append(known, "--"+flag.Name)
			}
		})
		suggestion = source.Suggest("--"+missing.GetSpecifiedName(), known)
	}
	return fmt.Errorf("%w%s; `%s --help` lists the flags", err, suggestion, command.CommandPath())
}

// plain returns the text of an error without the name of a system call before a file name.
func plain(err error) string {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) {
		text = strings.Replace(text, file.Op+" "+file.Path+":", file.Path+":", 1)
	}
	return text
}

// exactly requires this number of arguments; what describes them.
func exactly(what string, count int) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if len(arguments) == count {
			return nil
		}
		return fmt.Errorf("give %s: %s; see `%s --help`", what, strings.TrimSuffix(command.UseLine(), " [flags]"), command.CommandPath())
	}
}

// atMost limits the number of arguments; what describes them.
func atMost(what string, count int) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if len(arguments) <= count {
			return nil
		}
		return fmt.Errorf("give %s: %s; see `%s --help`", what, strings.TrimSuffix(command.UseLine(), " [flags]"), command.CommandPath())
	}
}

// guarded runs the program; a panic in it becomes an error as any other.
func (s *Streams) guarded(run func() int) (status int) {
	defer func() {
		if reason := recover(); reason != nil {
			status = s.crashed(reason, debug.Stack())
		}
	}()
	return run()
}

// crashed reports a fault of the program in one line. The stack is printed on request.
func (s *Streams) crashed(reason any, stack []byte) int {
	if err, ok := reason.(*profile.Panic); ok {
		stack = err.Stack
	}
	what, _, _ := strings.Cut(fmt.Sprint(reason), "\n")
	fmt.Fprintf(s.Err, "Error: this is a mistake in graft itself, please report it: %s; with %s=1 in the environment the same command says where\n",
		what, debugVariable)
	if os.Getenv(debugVariable) != "" {
		fmt.Fprintf(s.Err, "%s", stack)
	}
	return statusFailed
}

// debugVariable in the environment asks for the stack when graft fails by a mistake of its own.
const debugVariable = "GRAFT_DEBUG"
