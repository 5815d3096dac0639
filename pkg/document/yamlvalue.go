// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// value decodes an entry: map[string]any, []any, string, int64, float64, json.Number, bool or nil.
func (y *YAML) value(at int) any {
	e := &y.entries[at]
	switch e.kind {
	case yamlMap, yamlFlowMap:
		out := map[string]any{}
		for i := at + 1; i < int(e.next); i = int(y.entries[i].next) {
			out[y.entries[i].key(y.text)] = y.value(i)
		}
		return out
	case yamlSeq, yamlFlowSeq:
		out := []any{}
		for i := at + 1; i < int(e.next); i = int(y.entries[i].next) {
			out = append(out, y.value(i))
		}
		return out
	case yamlEmpty:
		return nil
	case yamlPlain:
		return plainYAML(y.text[e.start:e.end])
	default:
		return y.stringOf(e)
	}
}

// stringOf decodes a quoted scalar or a block scalar.
func (y *YAML) stringOf(e *yamlEntry) string {
	if e.kind != yamlBlock {
		return unquoteYAML(y.text[e.start:e.end])
	}
	var out string
	if err := yaml.Unmarshal([]byte(y.text[e.start:e.below]), &out); err != nil {
		return ""
	}
	return out
}

// isTextYAML reports whether a scalar without quotes is a string at first sight.
func isTextYAML(text string) bool {
	switch text {
	case "true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL":
		return false
	}
	c := text[0]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/'
}

// plainYAML resolves a scalar without quotes.
func plainYAML(text string) any {
	switch text {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	case "null", "Null", "NULL", "~":
		return nil
	}
	if isTextYAML(text) {
		return text
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && (text[0] >= '1' && text[0] <= '9' || text == "0") {
		return i
	}
	return resolveYAML(text)
}

// resolveYAML asks the library what a scalar is. Dates are strings, as for the components of Kubernetes
// (sigs.k8s.io/yaml).
func resolveYAML(text string) any {
	var value any
	if err := (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).Decode(&value); err != nil {
		return text
	}
	switch v := value.(type) {
	case int:
		return int64(v)
	case uint64:
		return json.Number(strconv.FormatUint(v, 10))
	case time.Time:
		return text
	}
	return value
}

// unquoteYAML decodes a quoted scalar on one line, which the scanner has checked.
func unquoteYAML(raw string) string {
	quote, body := raw[0], raw[1:len(raw)-1]
	if quote == '\'' {
		return strings.ReplaceAll(body, "''", "'")
	}
	if strings.IndexByte(body, '\\') < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		size := yamlEscapeSize(body[i:])
		switch c := body[i+1]; c {
		case '0':
			out = append(out, 0)
		case 'e':
			out = append(out, 0x1b)
		case 'x', 'u', 'U':
			r, _ := strconv.ParseUint(body[i+2:i+size], 16, 32)
			out = utf8.AppendRune(out, rune(r))
		default:
			out = append(out, unescape(c))
		}
		i += size - 1
	}
	return string(out)
}

// yamlWords are scalars that some version of YAML reads as something else than a string, in lower case.
var yamlWords = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}

// yamlString writes a string so that YAML 1.1 and 1.2 read it as one.
func yamlString(s string, flow bool) string {
	if plainIsString(s, flow) {
		return s
	}
	const digits = "0123456789abcdef"
	out := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == '\t':
			out = append(out, '\\', 't')
		case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r):
			out = utf8.AppendRune(out, r)
		case r <= 0xffff:
			out = append(out, '\\', 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		default:
			out = append(out, "\\U000"...)
			for shift := 16; shift >= 0; shift -= 4 {
				out = append(out, digits[r>>shift&15])
			}
		}
	}
	return string(append(out, '"'))
}

// plainIsString reports whether a string can stand without quotes.
func plainIsString(s string, flow bool) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	first := s[0]
	if !isWordByte(first) || first == '.' || first == '_' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		inner := i > 0 && (c == '-' || c == '%' || c == '+' || !flow && c == ':' && i+1 < len(s))
		if !isWordByte(c) && !inner {
			return false
		}
	}
	if first >= '0' && first <= '9' && strings.Trim(s, "0123456789abcdefABCDEFxXoO_.+-:tTzZ") == "" {
		return false // it could be taken for a number or a date
	}
	return !slices.ContainsFunc(yamlWords, func(word string) bool { return strings.EqualFold(s, word) })
}
