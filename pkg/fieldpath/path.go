// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package fieldpath parses paths of fields in objects and documents, spec.backup.store, data["config.yaml"],
// spec.rules[name=x].limit, spec.zones[0], and finds their values in decoded JSON. Start reading at Parse.
package fieldpath

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path is the way to a field.
type Path []Step

// Step is a member of an object, the item of a list that has a member, or an item by its position.
type Step struct {
	// Key is the name of the member, the value of the member By, or the position: decimal digits.
	Key string
	// By is the member that identifies an item; empty for other steps.
	By string
	// Quoted means that Key was in quotes and is text, even if it looks like a number.
	Quoted bool
	// Position means that Key is a position.
	Position bool
}

// MaximumSteps bounds a path; YAML documents are nested no deeper either.
const MaximumSteps = 100

var (
	plainKey   = regexp.MustCompile(`^[^][."'=\x00-\x20]+$`)
	plainValue = regexp.MustCompile(`^[^]["'\x00-\x20][^]["'\x00-\x1f]*$`)
	position   = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)
)

// Parse reads a path: keys with dots between them, ["key"] for keys with dots or brackets, [member=value] for the item of a
// list, where value may be in double quotes and is text then, and [0] for an item by its position. It fails for an
// empty path, and for one with more than MaximumSteps.
func Parse(text string) (Path, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8")
	}
	var p Path
	for rest := text; rest != ""; {
		var (
			s   Step
			err error
		)
		switch {
		case rest[0] == '[':
			s, rest, err = parseBracket(rest)
		case rest[0] == '.' && len(p) > 0:
			s, rest, err = parseKey(rest[1:])
		case len(p) == 0:
			s, rest, err = parseKey(rest)
		default:
			err = fmt.Errorf("a dot is missing before %q", rest)
		}
		if err != nil {
			return nil, err
		}
		if p = append(p, s); len(p) > MaximumSteps {
			return nil, fmt.Errorf("has more than %d steps", MaximumSteps)
		}
	}
	switch {
	case len(p) == 0:
		return nil, errors.New("is empty")
	case p[0].By != "" || p[0].Position:
		return nil, errors.New("begins with a list item, but the document is an object")
	}
	return p, nil
}

// parseKey reads a key without quotes.
func parseKey(text string) (Step, string, error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if !plainKey.MatchString(text[:end]) {
		return Step{}, "", fmt.Errorf(`%q is not a key; write other keys as ["key"]`, text[:end])
	}
	return Step{Key: text[:end]}, text[end:], nil
}

// parseBracket reads ["key"] or [member=value].
func parseBracket(text string) (Step, string, error) {
	inner := text[1:]
	if strings.HasPrefix(inner, `"`) {
		key, rest, err := parseQuoted(inner)
		if err != nil {
			return Step{}, "", err
		}
		return Step{Key: key}, rest, nil
	}
	by, value, found := strings.Cut(inner, "=")
	if end := strings.IndexByte(inner, ']'); !found || end >= 0 && end < len(by) {
		if end >= 0 && position.MatchString(inner[:end]) {
			return Step{Key: inner[:end], Position: true}, inner[end+1:], nil
		}
		return Step{}, "", fmt.Errorf(`%q is neither ["key"], nor [member=value], nor [0]`, text)
	}
	if !plainKey.MatchString(by) {
		return Step{}, "", fmt.Errorf("%q is not a member that can select an item", by)
	}
	if strings.HasPrefix(value, `"`) {
		key, rest, err := parseQuoted(value)
		return Step{Key: key, By: by, Quoted: true}, rest, err
	}
	value, rest, found := strings.Cut(value, "]")
	if !found || !plainValue.MatchString(value) {
		return Step{}, "", fmt.Errorf(`%q is not a value that can select an item; write it as "…"`, value)
	}
	return Step{Key: value, By: by}, rest, nil
}

// parseQuoted reads a text in double quotes with the bracket behind it.
func parseQuoted(text string) (string, string, error) {
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", errors.New("a quote is not closed")
	}
	value, err := strconv.Unquote(prefix)
	rest, closed := strings.CutPrefix(text[len(prefix):], "]")
	switch {
	case err != nil || !utf8.ValidString(value):
		return "", "", errors.New("a text in quotes is not UTF-8")
	case !closed:
		return "", "", errors.New("a bracket is not closed")
	}
	return value, rest, nil
}

// String writes the path in the one form that places compare.
func (p Path) String() string {
	var out strings.Builder
	for i, s := range p {
		switch {
		case s.Position:
			out.WriteString("[" + s.Key + "]")
		case s.By != "" && s.Quoted:
			out.WriteString("[" + s.By + "=" + strconv.Quote(s.Key) + "]")
		case s.By != "":
			out.WriteString("[" + s.By + "=" + s.Key + "]")
		case !plainKey.MatchString(s.Key):
			out.WriteString("[" + strconv.Quote(s.Key) + "]")
		case i > 0:
			out.WriteString("." + s.Key)
		default:
			out.WriteString(s.Key)
		}
	}
	return out.String()
}

// With returns the path to a member below.
func (p Path) With(key string) Path {
	return append(p[:len(p):len(p)], Step{Key: key})
}

// Keys returns the members on the path, without the items of lists.
func (p Path) Keys() []string {
	var keys []string
	for _, s := range p {
		if s.By == "" && !s.Position {
			keys = append(keys, s.Key)
		}
	}
	return keys
}
