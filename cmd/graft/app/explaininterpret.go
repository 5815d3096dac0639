// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// explainInterpretOptions are the flags of graft explain interpret.
type explainInterpretOptions struct {
	questions interpretOptions
	output    explainFormat
}

func newExplainInterpretCommand(s *Streams) *cobra.Command {
	o := &explainInterpretOptions{output: explainFormat(explain.Formats()[0])}
	command := &cobra.Command{
		Use:   "interpret OBJECT...",
		Short: "Explain what rules say when Karmada asks about objects, and why",
		Long: `Explain what rules say when Karmada asks about objects, and why.

OBJECT is a file with objects, a folder with such files, or - for standard input. Of each object and each operation it shows the
answer, and of each rule for it whether it applied, what each part of its condition came to, and where it stands: those of the
profiles, and behind them those for the kinds of Gardener. What is asked is chosen as with ` + "`graft interpret`" + `. Nothing of a
Secret is shown.

Exit status: 0; 1 when a question has no answer; 2 when it could not be done.`,
		Example: `  # why is it healthy, or not?
  graft explain interpret example/interpreter/objects/database.yaml -p example/interpreter/profile.yaml --operation health

  # what would become of it with four replicas, and by which rules?
  graft explain interpret example/interpreter/objects/database.yaml -p example/interpreter/profile.yaml --operation revise --replicas 4`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return errors.New("name a file with an object: graft explain interpret OBJECT")
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	set := command.Flags()
	set.SortFlags = false
	o.questions.addQuestionsTo(command)
	set.VarP(&o.output, "output", "o", "format: "+strings.Join(explain.Formats(), ", "))
	_ = command.RegisterFlagCompletionFunc("output", fixed(explain.Formats()...))
	return command
}

// listening answers as the rules do, and remembers what was asked.
type listening struct {
	interpret.Interpreter
	asked []interpreter.Request
}

// Interpret implements interpret.Interpreter.
func (l *listening) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	l.asked = append(l.asked, r)
	return l.Interpreter.Interpret(ctx, r)
}

func (o *explainInterpretOptions) run(command *cobra.Command, s *Streams, paths []string) error {
	options, err := o.questions.questions(command)
	if err != nil {
		return err
	}
	profiles, err := o.questions.profiles.load()
	if err != nil {
		return err
	}
	objects, err := manifest.Read(paths, s.In)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("no object was found in %s", strings.Join(paths, ", "))
	}
	if err := options.Check(objects); err != nil {
		return fmt.Errorf("--observed: %w", err)
	}
	by := &listening{Interpreter: profiles.program}
	options.By = by
	options.Asks = func(kind interpreter.Kind, _ []byte, one interpreter.Operation) bool {
		return profiles.program.Supports(kind, one)
	}
	for _, object := range objects {
		result, err := interpret.Run(command.Context(), object, options)
		if err != nil {
			return err
		}
		if len(result.Answers) == 0 {
			fmt.Fprintf(s.Err, "nothing is known of %s\n", object)
		}
		for _, answer := range result.Answers {
			if answer.Lacks != "" {
				fmt.Fprintf(s.Err, "not asked of %s: %s, which needs %s\n", object, answer.Operation, answer.Lacks)
			}
		}
	}
	return o.write(command, s, profiles, by.asked)
}

// write explains what was asked.
func (o *explainInterpretOptions) write(command *cobra.Command, s *Streams, profiles *interpreters, asked []interpreter.Request) error {
	failed := len(asked) == 0
	style := explain.Style{Colour: s.Colour(), Width: s.Width}
	for i, r := range asked {
		explanation, err := explain.Interpret(command.Context(), profiles.program, profiles.documents, r)
		if err != nil {
			return err
		}
		if i > 0 && o.output == "text" {
			fmt.Fprintln(s.Out)
		}
		if err := style.Write(s.Out, string(o.output), explanation); err != nil {
			return err
		}
		failed = failed || explanation.Failure != ""
	}
	if failed {
		return found{}
	}
	return nil
}
