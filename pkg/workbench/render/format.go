// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"
)

// Format is an output format for changes. It hides values from Secrets unless they were revealed.
type Format struct {
	// Name is the value of -o; Summary is a short description.
	Name, Summary string
	Write         func(Style, io.Writer, ...*Change) error
	// Whole means that whole objects are written instead of their changes.
	Whole bool
}

// differences lists the formats for changes. To add one: one line here.
var differences = []Format{
	{"text", "changed lines and the rules that made them, for a terminal", Style.Write, false},
	{"json", "the same as a document for programs", Style.JSON, false},
	{"yaml", "that document as YAML", Style.YAML, false},
	{"markdown", "a comment for a pull request", Style.Markdown, false},
	{"html", "a page to send around", Style.HTML, false},
}

// objects lists the formats for resulting objects. To add one: one line here.
var objects = []Format{
	{"yaml", "the objects as YAML documents", Style.ObjectsYAML, true},
	{"json", "the objects as a List", Style.ObjectsJSON, true},
	{"text", "the objects as lines to read: a flag a line, texts inside fields as text", Style.ObjectsText, true},
}

// Differences returns the formats for changes; the first is for terminals.
func Differences() []Format { return differences }

// Objects returns the formats for resulting objects, followed by those for changes with other names.
func Objects() []Format {
	all := append([]Format(nil), objects...)
	for _, format := range differences {
		if _, err := Find(objects, format.Name); err != nil {
			all = append(all, format)
		}
	}
	return all
}

// Find finds the format of a name. The error says which there are.
func Find(formats []Format, name string) (Format, error) {
	for _, format := range formats {
		if format.Name == name {
			return format, nil
		}
	}
	return Format{}, fmt.Errorf("there is no output format %q; there are %s", name, Names(formats))
}

// Names returns the names of the formats as text.
func Names(formats []Format) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = format.Name
	}
	return strings.Join(names, ", ")
}
