// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

// profileFlags selects the profiles, with the settings of an installation.
type profileFlags struct {
	paths           []string
	config          string
	parameters      []string
	imageOverwrite  string
	gardenerVersion string
	// mark adds annotations to objects as the webhook does.
	mark bool
}

// loaded are profiles that are ready to run.
type loaded struct {
	Documents []*profile.Document
	Program   *mutation.Program
}

// Provider returns the first provider of a profile; empty if all are for gardens.
func (l *loaded) Provider() string {
	for _, document := range l.Documents {
		if len(document.Providers) > 0 {
			return document.Providers[0]
		}
	}
	return ""
}

func (f *profileFlags) addTo(set *pflag.FlagSet) {
	set.StringArrayVarP(&f.paths, "profile", "p", nil, "file or folder with profiles (repeatable; default profile.yaml)")
	f.addInstallationTo(set)
}

// addInstallationTo defines the flags for settings of an installation.
func (f *profileFlags) addInstallationTo(set *pflag.FlagSet) {
	set.StringArrayVar(&f.parameters, "parameter", nil, "value of a parameter, instead of the profile's default: name=value, or profile/name=value (repeatable)")
	set.StringVar(&f.config, "config", "", "ControllerConfiguration of an installation, for its parameters")
	set.StringVar(&f.imageOverwrite, "image-overwrite", "", "image vector that replaces images of the profiles, like the file of IMAGEVECTOR_OVERWRITE")
	set.StringVar(&f.gardenerVersion, "gardener-version", "", "version of Gardener (default: the current one)")
}

// read reads the files; profile.yaml in the working directory when none is named.
func (f *profileFlags) read() ([]source.File, error) {
	paths := f.paths
	if len(paths) == 0 {
		if _, err := os.Stat(defaultProfile); err != nil {
			return nil, fmt.Errorf("no profile: there is no %s here; name one with --profile, or make one with `graft init`", defaultProfile)
		}
		paths = []string{defaultProfile}
	}
	return folder.ReadNamed(paths...)
}

// defaultProfile is the profile to read if none is given.
const defaultProfile = "profile.yaml"

// load reads and compiles the profiles. The error is source.Findings where profiles are wrong.
func (f *profileFlags) load() (*loaded, error) {
	files, err := f.read()
	if err != nil {
		return nil, err
	}
	return f.compile(files)
}

// compile compiles profiles; a panic is an error.
func (f *profileFlags) compile(files []source.File) (*loaded, error) {
	return profile.Guard(files, f.compiled)
}

func (f *profileFlags) compiled(files []source.File) (*loaded, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	documents, findings := profile.Load(files...)
	if len(findings) > 0 {
		_, more := compiler.Check(documents, options)
		return nil, append(findings, more.Errors()...).Err()
	}
	if len(documents) == 0 {
		return nil, errors.New("no profile was found: give a file, or a folder with files that end in .yaml")
	}
	if err := f.override(documents); err != nil {
		return nil, err
	}
	older := !slices.ContainsFunc(documents, func(d *profile.Document) bool { return contract.Today.For(d.Gardener) })
	if f.gardenerVersion == "" && older {
		options.Generation = contract.Labelled
	}
	program, err := compiler.Compile(documents, options)
	if err != nil {
		return nil, err
	}
	return &loaded{Documents: documents, Program: program}, nil
}

// options returns the settings of the flags for all profiles.
func (f *profileFlags) options() (compiler.Options, error) {
	generation, err := contract.GenerationOf(f.gardenerVersion)
	if err != nil {
		return compiler.Options{}, fmt.Errorf("reading --gardener-version: %w", err)
	}
	options := compiler.Options{Generation: generation, Mark: f.mark}
	if f.imageOverwrite != "" {
		raw, err := disk.ReadStream(f.imageOverwrite, disk.DocumentSize)
		if err != nil {
			return options, fmt.Errorf("reading --image-overwrite: %w", err)
		}
		if options.ImageOverwrite, err = image.Parse(raw); err != nil {
			return options, fmt.Errorf("reading --image-overwrite: %w", err)
		}
	}
	return options, nil
}

// override sets the parameters: those of the configuration, and above them those of the command line.
func (f *profileFlags) override(documents []*profile.Document) error {
	parameters := profile.Parameters{}
	if f.config != "" {
		data, err := disk.ReadStream(f.config, disk.DocumentSize)
		if err != nil {
			return fmt.Errorf("reading --config: %w", err)
		}
		config, err := configv1alpha1.DecodeControllerConfiguration(source.File{Name: f.config, Data: data})
		if err != nil {
			return err
		}
		for name, values := range config.Parameters {
			parameters[name] = values
		}
	}
	for _, given := range f.parameters {
		if err := addParameter(parameters, given, documents); err != nil {
			return err
		}
	}
	return parameters.Override(documents).Err()
}

// addParameter parses name=value or profile/name=value. Without a profile it applies to all with such a parameter.
func addParameter(parameters profile.Parameters, given string, documents []*profile.Document) error {
	name, text, ok := strings.Cut(given, "=")
	if !ok || name == "" {
		return fmt.Errorf("--parameter %s: must be name=value", given)
	}
	nodes, findings := source.Parse(source.File{Name: "--parameter " + name, Data: []byte(text)})
	if err := findings.Err(); err != nil {
		return err
	}
	value := source.Node{Node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: 1, Column: 1}, File: "--parameter " + name}
	if len(nodes) == 1 {
		value = nodes[0]
	}
	if profileName, parameter, named := strings.Cut(name, "/"); named {
		name = parameter
		documents = slices.DeleteFunc(slices.Clone(documents), func(d *profile.Document) bool { return d.Metadata.Name != profileName })
	}
	if err := parameters.Set(documents, name, value); err != nil {
		return fmt.Errorf("--parameter %s: %w", given, err)
	}
	return nil
}

// outputFlags selects the format of changes and their destination.
type outputFlags struct {
	formats     []render.Format
	format      string
	file        string
	showSecrets bool
}

// addTo defines the flags; the first of the formats is taken where none is named.
func (f *outputFlags) addTo(command *cobra.Command, formats []render.Format) {
	f.formats = formats
	var names []string
	for _, format := range formats {
		names = append(names, format.Name+"\t"+format.Summary)
	}
	set := command.Flags()
	set.StringVarP(&f.format, "output", "o", formats[0].Name, "output format: "+render.Names(formats))
	set.StringVar(&f.file, "output-file", "", "file to write instead of standard output; it is written completely or not at all")
	set.BoolVar(&f.showSecrets, "show-secrets", false, "show values from Secrets, which are hidden by default")
	choices(command, "output", names...)
}

// write writes the changes.
func (f *outputFlags) write(s *Streams, style render.Style, changes []*render.Change) error {
	for _, change := range changes {
		if f.showSecrets {
			change.Reveal()
		}
	}
	return f.to(s, style, func(w io.Writer, format render.Format, style render.Style) error {
		return format.Write(style, w, changes...)
	})
}

// to calls a function with the output, the format, and the style for this output.
func (f *outputFlags) to(s *Streams, style render.Style, write func(io.Writer, render.Format, render.Style) error) error {
	format, err := render.Find(f.formats, f.format)
	if err != nil {
		return err
	}
	if f.file == "" {
		return write(s.Out, format, style)
	}
	style.Colour, style.Width = s.colour == "always", 0
	return writeFile(f.file, func(w io.Writer) error { return write(w, format, style) })
}

// writeFile writes all of a file, or nothing of it.
func writeFile(path string, write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	return whole.Write(path, out.Bytes())
}

// setHeadings sets the title of a page or a comment, and the description of its input.
func setHeadings(style *render.Style, profiles *loaded, snapshots []*snapshot.Snapshot) {
	var names []string
	for _, document := range profiles.Documents {
		names = append(names, document.Metadata.Name)
	}
	var titles []string
	for _, one := range snapshots {
		titles = append(titles, one.Title)
	}
	subject, verb := strings.Join(names, " and "), "changes"
	if len(names) > 1 {
		verb = "change"
	}
	style.Title = "What " + subject + " " + verb
	style.About = []render.Fact{{Name: "Profiles", Value: strings.Join(profiles.files(), ", ")}, {Name: "Shoots", Value: strings.Join(titles, "; ")}}
	if len(names) == 1 {
		style.About[0].Name = "Profile"
	}
	if len(titles) == 1 {
		style.About[1].Name = "Shoot"
	}
}
