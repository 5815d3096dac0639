// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// secretFields are what of a Secret is not shown: its data, and annotations, in one of which kubectl keeps a copy of it.
var secretFields = []string{"data", "stringData", "metadata.annotations"}

// isSecret says whether the object itself is a Secret of which the values are hidden.
func (c *Change) isSecret() bool { return !c.revealed && c.APIVersion == "v1" && c.Kind == "Secret" }

// value is what stands for a value of the Secret, as for one that rules made of it.
func (c *Change) value() string { return fmt.Sprintf("(from Secret %s)", c.Name) }

// fieldOf is the field of a Secret that a path leads into; empty where that may be shown.
func fieldOf(path string) string {
	i := slices.IndexFunc(secretFields, func(field string) bool { return path == field || strings.HasPrefix(path, field+".") })
	if i < 0 {
		return ""
	}
	return secretFields[i]
}

// withoutData hides the values of a Secret in its lines, and leaves the keys.
func (c *Change) withoutData(edits []Edit) []Edit {
	for i := range edits {
		line := &edits[i].Line
		field := fieldOf(line.Path)
		switch head := strings.Count(field, ".") + 1; {
		case field == "" || line.Depth < head:
		case line.Depth > head: // a line of a text of several
			line.Text = c.value()
		default:
			line.Text = strings.TrimPrefix(line.Path, field+".") + ": " + c.value()
		}
	}
	return edits
}

// concealed is a value of a Secret, or of a field at a path in it, with what is secret hidden.
func (c *Change) concealed(path string, raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading a Secret to hide what it holds: %w", err)
	}
	out, err := marshal(c.conceal(path, value), "")
	if err != nil {
		return nil, fmt.Errorf("writing a Secret without what it holds: %w", err)
	}
	return bytes.TrimSpace(out), nil
}

func (c *Change) conceal(path string, value any) any {
	members, ok := value.(map[string]any)
	if !ok {
		if value != nil && fieldOf(path) != "" {
			return c.value()
		}
		return value
	}
	for key, member := range members {
		members[key] = c.conceal(strings.TrimPrefix(path+"."+key, "."), member)
	}
	return members
}
