// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

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
	set.StringVarP(&f.format, "output", "o", formats[0].Name, "form of the output: "+render.Names(formats))
	set.StringVar(&f.file, "output-file", "", "file to write instead of standard output; it is written completely or not at all")
	set.BoolVar(&f.showSecrets, "show-secrets", false, "show values from Secrets, which are hidden by default")
	_ = command.RegisterFlagCompletionFunc("output", fixed(names...)) // fails for unknown flags only
}

// check finds the format before any work is done.
func (f *outputFlags) check() error {
	_, err := render.Find(f.formats, f.format)
	return err
}

// write writes the changes.
func (f *outputFlags) write(s *Streams, style render.Style, changes []*render.Change) error {
	format, err := render.Find(f.formats, f.format)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if f.showSecrets {
			change.Reveal()
		}
	}
	if f.file == "" {
		return format.Write(style, s.Out, changes...)
	}
	style.Colour, style.Width = s.colour == colourAlways, 0
	return writeFile(f.file, func(w io.Writer) error { return format.Write(style, w, changes...) })
}

// writeFile writes all of a file, or nothing of it.
func writeFile(path string, write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	err := whole.Write(path, out.Bytes())
	var file *fs.PathError
	if errors.As(err, &file) {
		err = fmt.Errorf("writing %s: %w", path, file.Err)
	}
	return err
}

// heads sets the title of a page or a comment, and the description of its input.
func heads(style *render.Style, profiles *loaded, scenes []*scene.Scene) {
	var names []string
	for _, document := range profiles.Documents {
		names = append(names, document.Metadata.Name)
	}
	var titles []string
	for _, one := range scenes {
		titles = append(titles, one.Title)
	}
	subject, verb := strings.Join(names, " and "), "changes"
	if len(names) > 1 {
		verb = "change"
	}
	style.Title = "What " + subject + " " + verb
	style.About = []report.Fact{{Name: "Profiles", Value: strings.Join(profiles.files(), ", ")}, {Name: "Shoots", Value: strings.Join(titles, "; ")}}
	if len(names) == 1 {
		style.About[0].Name = "Profile"
	}
	if len(titles) == 1 {
		style.About[1].Name = "Shoot"
	}
}
