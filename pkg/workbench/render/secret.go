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

// secretFields lists the fields of a Secret that are hidden: its data, and annotations, because kubectl keeps a copy of
// the data there.
var secretFields = []string{"data", "stringData", "metadata.annotations"}

// isSecret reports whether the object itself is a Secret with hidden values.
func (c *Change) isSecret() bool { return !c.revealed && c.APIVersion == "v1" && c.Kind == "Secret" }

// value returns the replacement for a value of the Secret, as for a rule's value from it.
func (c *Change) value() string { return fmt.Sprintf("(from Secret %s)", c.Name) }

// fieldOf returns the hidden field of a Secret that contains the path, or an empty string.
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

// concealed returns a value at a path of a Secret with its hidden fields replaced.
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
