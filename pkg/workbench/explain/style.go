// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/colour"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Style says how explanations are written.
type Style struct {
	// Colour writes ANSI colours. The caller knows whether a terminal reads along and whether NO_COLOR is set.
	Colour bool
	// Width is that of the terminal in characters; 100 when it is 0.
	Width int
	// File shortens the name of a profile's file; without it the last folder and the name are written.
	File func(string) string
}

func (s Style) withDefaults() Style {
	if s.Width <= 0 {
		s.Width = 100
	}
	s.Width = max(s.Width, leastWidth)
	if s.File == nil {
		s.File = render.ShortFile
	}
	return s
}

// leastWidth is the minimum width for readable text.
const leastWidth = 40

func (s Style) paint(t colour.Tone, text string) string { return t.Paint(s.Colour, text) }

// Formats returns the output formats for explanations and pages; the first is for terminals.
func Formats() []string { return []string{"text", "json", "yaml"} }

// Write writes a *Page or an *Object in a format.
func (s Style) Write(w io.Writer, format string, what any) error {
	if format == "text" {
		switch what := what.(type) {
		case *Page:
			return s.writePage(w, what)
		default:
			return s.writeObject(w, what.(*Object))
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(what); err != nil {
		return fmt.Errorf("writing as JSON: %w", err)
	}
	if format == "yaml" {
		raw, err := yaml.JSONToYAML(out.Bytes())
		if err != nil {
			return fmt.Errorf("writing as YAML: %w", err)
		}
		out = *bytes.NewBuffer(append([]byte("---\n"), raw...))
	}
	_, err := w.Write(out.Bytes())
	return err
}
