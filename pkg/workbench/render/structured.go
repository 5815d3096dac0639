// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes a Difference as JSON. The style makes no difference.
func (s Style) JSON(w io.Writer, changes ...*Change) error {
	out, err := marshal(s.differenceOf(changes), "  ")
	if err != nil {
		return fmt.Errorf("writing the changes as JSON: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// YAML writes a Difference as YAML. The style makes no difference.
func (s Style) YAML(w io.Writer, changes ...*Change) error {
	out, err := marshal(s.differenceOf(changes), "")
	if err != nil {
		return fmt.Errorf("writing the changes as YAML: %w", err)
	}
	return writeYAML(w, out, asWritten)
}

// differenceOf returns the changes as a document, with the sides of a comparison and its notes.
func (s Style) differenceOf(changes []*Change) Difference {
	d := DifferenceOf(changes...)
	d.Notes = s.Notes
	for _, fact := range s.About {
		switch fact.Name {
		case "OLD":
			d.Old = fact.Value
		case "NEW":
			d.New = fact.Value
		}
	}
	return d
}

// ObjectsJSON writes the objects as they are now: one by itself, any other number as a List. The style makes no difference.
func (s Style) ObjectsJSON(w io.Writer, changes ...*Change) error {
	items := make([]json.RawMessage, len(changes))
	for i, change := range changes {
		shown, err := change.Shown()
		if err != nil {
			return err
		}
		items[i] = shown
	}
	var whole any = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if len(items) == 1 {
		whole = items[0]
	}
	out, err := marshal(whole, "  ")
	if err != nil {
		return fmt.Errorf("writing the objects as JSON: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// ObjectsYAML writes the current objects as YAML documents: texts of several lines as blocks, and base64 files with a
// comment with their text. It ignores the style.
func (s Style) ObjectsYAML(w io.Writer, changes ...*Change) error {
	for i, change := range changes {
		shown, err := change.Shown()
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if err := writeYAML(w, shown, asPeopleDo, insides(change.Kind)...); err != nil {
			return err
		}
	}
	return nil
}

// ObjectsText writes the lines of the objects as they are now, with an empty line between two. The style makes no difference.
func (s Style) ObjectsText(w io.Writer, changes ...*Change) error {
	var out bytes.Buffer
	for i, change := range changes {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, edit := range change.Edits() {
			if edit.Op != Removed {
				out.WriteString(edit.Line.String())
				out.WriteByte('\n')
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
