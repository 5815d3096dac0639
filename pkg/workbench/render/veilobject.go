// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// object is a JSON value with the pieces hidden in every key and value, also inside of what is written in base64. Its members
// are sorted then. Nothing to hide leaves the value as it is.
func (c cover) object(raw []byte) ([]byte, error) {
	if len(c.pieces) == 0 {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("reading a value to hide what is secret: %w", err)
	}
	out, err := marshal(c.value(value), "")
	if err != nil {
		return nil, fmt.Errorf("writing a value in which something is hidden: %w", err)
	}
	return bytes.TrimSpace(out), nil
}

func (c cover) value(value any) any {
	switch value := value.(type) {
	case string:
		return c.encoded(value)
	case json.Number:
		if shown := c.text(value.String()); shown != value.String() {
			return shown
		}
	case []any:
		for i := range value {
			value[i] = c.value(value[i])
		}
	case map[string]any:
		hidden := make(map[string]any, len(value))
		for key, member := range value {
			hidden[c.text(key)] = c.value(member)
		}
		return hidden
	}
	return value
}

// encoded hides pieces in a text, or in the text of which it is the base64, as that of a file in an OperatingSystemConfig is.
func (c cover) encoded(text string) string {
	if shown, whole := c.veil[text]; whole {
		return shown
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
		if shown := c.text(string(decoded)); shown != string(decoded) {
			return base64.StdEncoding.EncodeToString([]byte(shown))
		}
	}
	return c.text(text)
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
