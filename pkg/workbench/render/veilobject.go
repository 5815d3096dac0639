// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object returns the JSON value at a path of an object with hidden texts replaced in every key and value, also inside
// of base64. Its members are sorted then. If there is nothing to hide, it returns the value unchanged.
func (c cover) object(path string, raw []byte) ([]byte, error) {
	if c.veil.empty() {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading a value to hide what is secret: %w", err)
	}
	out, err := marshal(walker{c}.value(path, value), "")
	if err != nil {
		return nil, fmt.Errorf("writing a value in which something is hidden: %w", err)
	}
	return bytes.TrimSpace(out), nil
}

// walker lays a cover over a value, with paths as lines have them.
type walker struct {
	cover
}

func (w walker) value(path string, value any) any {
	switch value := value.(type) {
	case string:
		return w.encoded(path, value)
	case json.Number:
		return w.plain(path, value.String(), value)
	case bool:
		if shown := w.hidden(path, strconv.FormatBool(value)); shown != strconv.FormatBool(value) {
			return shown
		}
	case []any:
		names := namesOf(path, value)
		for i := range value {
			value[i] = w.value(path+"["+names[i]+"]", value[i])
		}
	case map[string]any:
		hidden := make(map[string]any, len(value))
		for key, member := range value {
			hidden[w.text(key)] = w.value(strings.TrimPrefix(path+"."+key, "."), member)
		}
		return hidden
	}
	return value
}

// plain returns an unquoted value, or its replacement.
func (w walker) plain(path, text string, value any) any {
	if shown := w.hidden(path, text); shown != text {
		return shown
	}
	return value
}

// hidden returns a text at a path with hidden texts replaced.
func (w walker) hidden(path, text string) string {
	places := w.veil.places
	if shown := places.hides(path); shown != "" {
		if strings.HasPrefix(text, "-") && strings.Contains(text, "=") {
			return withoutValue(text, shown)
		}
		return shown
	}
	pieces := places.valuesAt(path)
	if isText(text) {
		pieces = places.at(path)
	}
	return w.pieces.here(pieces).replace(text)
}

// encoded replaces hidden texts in a text, or in its decoded base64, as for a file in an OperatingSystemConfig.
func (w walker) encoded(path, text string) string {
	if shown, whole := w.veil.pieces[text]; whole {
		return shown
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
		if shown := w.hidden(path, string(decoded)); shown != string(decoded) {
			return base64.StdEncoding.EncodeToString([]byte(shown))
		}
	}
	return w.hidden(path, text)
}

// namesOf returns the names of list items in the paths of lines: their keys, or the flags of a command line.
func namesOf(path string, items []any) []string {
	names := make([]string, len(items))
	command := strings.HasSuffix(path, ".command") || strings.HasSuffix(path, ".args")
	before := "" // the flag that takes the next token as its value
	for i, item := range items {
		switch item := item.(type) {
		case map[string]any:
			for _, key := range identifying {
				if name, ok := item[key].(string); ok && name != "" {
					names[i] = name
					break
				}
			}
		case string:
			switch name, _, given := strings.Cut(item, "="); {
			case command && strings.HasPrefix(item, "-"):
				if names[i], before = name, name; given {
					before = ""
				}
			case command:
				names[i], before = before, ""
			}
		}
	}
	return names
}

// marshal writes JSON as people read it: without escapes for HTML.
func marshal(value any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
