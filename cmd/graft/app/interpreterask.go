// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// interpretOptions are the flags of graft interpret.
type interpretOptions struct {
	profiles   interpreterFlags
	operations []string
	observed   []string
	replicas   int32
	members    string
	format     string
}

func newInterpretCommand(s *Streams) *cobra.Command {
	o := &interpretOptions{}
	command := &cobra.Command{
		Use:   "ask OBJECT...",
		Short: "Show the answers to Karmada for objects",
		Long: `Show the answers to Karmada for objects.

OBJECT is a file with objects, a folder with such files, or - for standard input. It runs all operations with
rules: replicas, components, revise, dependencies, prune, retain, status, health and aggregate. retain needs the
object of the member cluster (--observed), revise a number (--replicas), and aggregate the statuses of the
members (--members).

The rules of the profiles precede those for the kinds of Gardener.

Exit status: 0; 1 if an operation has no answer; 2 if the command failed.`,
		Example: `  # all operations
  graft interpreter ask example/interpreter/objects/database.yaml -p example/interpreter/profile.yaml

  # values of a member cluster that are retained
  graft interpreter ask example/interpreter/tests/member/object.yaml -p example/interpreter/profile.yaml \
    --operation retain --observed example/interpreter/tests/member/observed.yaml`,
		Args: atLeastOne("a file with an object"),
		RunE: func(command *cobra.Command, arguments []string) error { return o.run(command, s, arguments) },
	}
	o.addTo(command)
	return command
}

func (o *interpretOptions) addTo(command *cobra.Command) {
	set := command.Flags()
	o.profiles.addTo(command)
	set.StringSliceVar(&o.operations, "operation", nil, "operation to run (repeatable; default: all operations with rules)")
	set.StringArrayVar(&o.observed, "observed", nil, "for retain: file with the objects of member clusters, of the same kinds and names (repeatable)")
	set.Int32Var(&o.replicas, "replicas", 0, "for revise: the number of replicas")
	set.StringVar(&o.members, "members", "", "for aggregate: file with a mapping of clusters to status, applied, message and health")
	set.StringVarP(&o.format, "output", "o", "text", "output format: text, json")
	_ = command.RegisterFlagCompletionFunc("operation", fixed(operationNames()...))
	choices(command, "output", "text\tfor people", "json\tfor programs")
}

func operationNames() []string {
	var names []string
	for _, one := range interpreter.Operations() {
		names = append(names, string(one))
	}
	return names
}

func (o *interpretOptions) run(command *cobra.Command, s *Streams, paths []string) error {
	asked, err := o.options(command.Flags().Changed("replicas"))
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
	if err := asked.Check(objects); err != nil {
		return fmt.Errorf("--observed: %w", err)
	}
	if len(objects) > 1 && asked.Members != nil {
		return errors.New("--members describes one object: name only that one")
	}
	var results []interpret.Result
	unknown := 0
	for _, object := range objects {
		result, err := interpret.Run(command.Context(), object, asked)
		if err != nil {
			return err
		}
		if len(result.Answers) == 0 {
			unknown++
		}
		results = append(results, result)
	}
	if o.format == "json" {
		err = render.WriteJSON(s.Out, interpret.DocumentOf(results))
	} else {
		err = interpret.Write(s.Out, s.style(), results)
	}
	if err != nil {
		return err
	}
	switch failed := interpret.Failed(results); {
	case failed > 0:
		return found{counted(failed, "question has no answer", "questions have no answer")}
	case unknown == len(objects):
		return found{"no profile interprets any of the objects"}
	case unknown > 0:
		return found{fmt.Sprintf("no profile interprets %d of %d objects", unknown, len(objects))}
	}
	return nil
}

// options returns the requests and their interpreter from the flags.
func (o *interpretOptions) options(withReplicas bool) (interpret.Options, error) {
	var asked interpret.Options
	for _, name := range o.operations {
		one := interpreter.Operation(name)
		if !one.Known() {
			known := operationNames()
			return asked, fmt.Errorf("--operation %s: unknown operation%s; the operations are %s", name, source.Suggest(name, known), strings.Join(known, ", "))
		}
		if !slices.Contains(asked.Operations, one) {
			asked.Operations = append(asked.Operations, one)
		}
	}
	if withReplicas {
		asked.Replicas = &o.replicas
	}
	if o.members != "" {
		data, err := disk.ReadStream(o.members, disk.DocumentSize)
		if err != nil {
			return asked, fmt.Errorf("reading --members: %w", err)
		}
		if asked.Members, err = interpret.ParseMembers(source.File{Name: o.members, Data: data}); err != nil {
			return asked, fmt.Errorf("reading --members: %w", err)
		}
	}
	if len(o.observed) > 0 {
		var err error
		if asked.Observed, err = manifest.Read(o.observed, strings.NewReader("")); err != nil {
			return asked, fmt.Errorf("reading --observed: %w", err)
		}
		if len(asked.Observed) == 0 {
			return asked, fmt.Errorf("--observed: no object was found in %s", strings.Join(o.observed, ", "))
		}
	}
	profiles, err := o.profiles.load()
	if err != nil {
		return asked, err
	}
	asked.By = profiles.program
	asked.Asks = func(kind interpreter.Kind, _ []byte, one interpreter.Operation) bool {
		return profiles.program.Supports(kind, one)
	}
	return asked, nil
}

// interpreterFlags say which InterpreterProfiles are meant.
type interpreterFlags struct {
	paths    []string
	gardener bool
	optional []string
}

// interpreters are InterpreterProfiles that are ready to answer.
type interpreters struct {
	documents []*profile.Interpreter
	program   *rule.Program
}

func (f *interpreterFlags) addTo(command *cobra.Command) {
	set := command.Flags()
	set.StringArrayVarP(&f.paths, "profile", "p", nil, "file or folder with InterpreterProfiles; they precede those of Gardener (repeatable)")
	set.BoolVar(&f.gardener, "gardener", true, "include the profiles for Gardener's kinds")
	set.StringArrayVar(&f.optional, "optional", nil, "name of an optional profile for Gardener's kinds (repeatable)")
	_ = command.RegisterFlagCompletionFunc("optional", fixed(gardener.Optional()...)) // fails for unknown flags only
}

// load reads and compiles the profiles. The error is source.Findings where profiles are wrong.
func (f *interpreterFlags) load() (*interpreters, error) {
	files, err := folder.ReadNamed(f.paths...)
	if err != nil {
		return nil, err
	}
	return profile.Guard(files, func(files []source.File) (*interpreters, error) {
		documents, err := f.decode(files)
		if err != nil {
			return nil, err
		}
		program, findings := rule.Compile(documents)
		if err := findings.Errors().Err(); err != nil {
			return nil, err
		}
		return &interpreters{documents, program}, nil
	})
}

// decode decodes profiles, and adds those of Gardener.
func (f *interpreterFlags) decode(files []source.File) ([]*profile.Interpreter, error) {
	var documents []*profile.Interpreter
	if len(f.paths) > 0 {
		own, findings := profile.LoadInterpreters(files...)
		if err := findings.Errors().Err(); err != nil {
			return nil, err
		}
		documents = own
		from := make([]string, len(own))
		for i, d := range own {
			from[i] = d.Node.File
		}
		if empty := folder.Empty(f.paths, from); len(empty) > 0 {
			return nil, fmt.Errorf("no InterpreterProfile was found in %s: give a file, or a folder with files that end in .yaml", strings.Join(empty, ", "))
		}
	}
	switch {
	case f.gardener:
		embedded, err := gardener.Profiles(f.optional...)
		if err != nil {
			return nil, err
		}
		documents = slices.Concat(documents, embedded)
	case len(f.optional) > 0:
		return nil, errors.New("--optional and --gardener=false exclude each other")
	}
	if len(documents) == 0 {
		return nil, errors.New("no InterpreterProfile was found: name a file or a folder with --profile")
	}
	return documents, nil
}
