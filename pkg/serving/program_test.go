// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestMainFunction checks the output and the exit status of a program.
func TestMainFunction(t *testing.T) {
	findings := source.Findings{
		{Position: source.Position{File: "a.yaml", Line: 1, Column: 2}, Message: "is wrong"}, {Position: source.Position{File: "b.yaml", Line: 3, Column: 4}, Message: "is so too"},
	}
	for name, c := range map[string]struct {
		err      error
		status   int
		problems string
	}{
		"exits with 0 without an error":            {nil, 0, ""},
		"exits with 1 and prints the error":        {errors.New("opening it: gone"), 1, "Error: opening it: gone\n"},
		"prints the findings of invalid documents": {fmt.Errorf("loading: %w", findings), 1, findings.Error() + "\n"},
	} {
		type key struct{}
		command := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(command *cobra.Command, arguments []string) error {
			fmt.Fprint(command.OutOrStdout(), arguments, command.Context().Value(key{}))
			return c.err
		}}
		var out, problems strings.Builder
		status := Main(context.WithValue(t.Context(), key{}, "its"), command, []string{"x"}, &out, &problems)
		if status != c.status || out.String() != "[x]its" || problems.String() != c.problems {
			t.Errorf("%s: status %d, %q, %q", name, status, out.String(), problems.String())
		}
	}
}
