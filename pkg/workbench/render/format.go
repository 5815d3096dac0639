// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"
)

// Format is a form in which changes can be written. None shows what rules made of Secrets, unless it was revealed.
type Format struct {
	// Name is what -o takes; Summary says in a few words what is written.
	Name, Summary string
	Write         func(Style, io.Writer, ...*Change) error
	// Whole says that the objects are written rather than what has changed about them.
	Whole bool
}

// differences are the formats of what has changed. To add one: one line here.
var differences = []Format{
	{"text", "changed lines and the rules that made them, for a terminal", Style.Write, false},
	{"json", "the same as a document for programs", Style.JSON, false},
	{"yaml", "that document as YAML", Style.YAML, false},
	{"markdown", "a comment for a pull request", Style.Markdown, false},
	{"html", "a page to send around", Style.HTML, false},
}

// objects are the formats of what the objects have become. To add one: one line here.
var objects = []Format{
	{"yaml", "the objects as YAML documents", Style.ObjectsYAML, true},
	{"json", "the objects as a List", Style.ObjectsJSON, true},
	{"text", "the objects as lines to read: a flag a line, texts inside fields as text", Style.ObjectsText, true},
}

// Differences are the formats of what has changed; the first is for people at a terminal.
func Differences() []Format { return differences }

// Objects are the formats of what the objects have become, and then those of what has changed that have other names.
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

// Names are the names of the formats, for people.
func Names(formats []Format) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = format.Name
	}
	return strings.Join(names, ", ")
}
