// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"io"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// Format is a form in which a result can be written.
type Format struct {
	Name  string
	Write func(*Result, io.Writer, render.Style) error
}

// formats are all of them. To add one: one line here.
var formats = []Format{
	{"text", (*Result).Text},
	{"json", (*Result).JSON},
	{"yaml", (*Result).YAML},
	{"markdown", (*Result).Markdown},
	{"html", (*Result).HTML},
}

// Formats are the names of the formats; the first is for people at a terminal.
func Formats() []string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = format.Name
	}
	return names
}

// Write writes the result in the format of a name; in the first where there is none of the name.
func (r *Result) Write(w io.Writer, format string, style render.Style) error {
	for _, f := range formats {
		if f.Name == format {
			return f.Write(r, w, style)
		}
	}
	return formats[0].Write(r, w, style)
}
