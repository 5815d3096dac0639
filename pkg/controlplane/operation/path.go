// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fieldPath is the way to a field: spec.backup.store, data["config.yaml"], spec.rules[name=x].limit.
type fieldPath []step

// step is a member of an object or, where by is not empty, the item of a list whose member by is key. The token of a JSON
// pointer that may be an index is a step with position.
type step struct {
	key, by  string
	quoted   bool
	position bool
}

// maximumSteps bounds a path; YAML documents are nested no deeper either.
const maximumSteps = 100

// errPosition says why [0] is not a step.
var errPosition = errors.New("an item is found by a member, as in [name=x]: its position changes when others add items")

var (
	plainKey   = regexp.MustCompile(`^[^][."'=\s\x00-\x1f]+$`)
	plainValue = regexp.MustCompile(`^[^]["'\s\x00-\x1f][^]["'\x00-\x1f]*$`)
	position   = regexp.MustCompile(`^-?[0-9]*$`)
)

// parsePath reads a path: keys with dots between them, ["key"] for keys with dots or brackets, and [member=value] for the
// item of a list; value may be in double quotes and is text then.
func parsePath(text string) (fieldPath, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8")
	}
	var p fieldPath
	for rest := text; rest != ""; {
		var (
			s   step
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
		if p = append(p, s); len(p) > maximumSteps {
			return nil, fmt.Errorf("has more than %d steps", maximumSteps)
		}
	}
	switch {
	case len(p) == 0:
		return nil, errors.New("is empty")
	case p[0].by != "":
		return nil, errors.New("begins with an item of a list, but the whole is an object")
	}
	return p, nil
}

// parseKey reads a key without quotes.
func parseKey(text string) (step, string, error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if !plainKey.MatchString(text[:end]) {
		return step{}, "", fmt.Errorf(`%q is no key; write other keys as ["key"]`, text[:end])
	}
	return step{key: text[:end]}, text[end:], nil
}

// parseBracket reads ["key"] or [member=value].
func parseBracket(text string) (step, string, error) {
	inner := text[1:]
	if strings.HasPrefix(inner, `"`) {
		key, rest, err := parseQuoted(inner)
		if err != nil {
			return step{}, "", err
		}
		return step{key: key}, rest, nil
	}
	by, value, found := strings.Cut(inner, "=")
	if end := strings.IndexByte(inner, ']'); !found || end >= 0 && end < len(by) {
		if end >= 0 && position.MatchString(inner[:end]) {
			return step{}, "", errPosition
		}
		return step{}, "", fmt.Errorf(`%q is neither ["key"] nor [member=value]`, text)
	}
	if !plainKey.MatchString(by) {
		return step{}, "", fmt.Errorf("%q is no member by which an item is found", by)
	}
	if strings.HasPrefix(value, `"`) {
		key, rest, err := parseQuoted(value)
		return step{key: key, by: by, quoted: true}, rest, err
	}
	value, rest, found := strings.Cut(value, "]")
	if !found || !plainValue.MatchString(value) {
		return step{}, "", fmt.Errorf(`%q is no value by which an item is found; write it as "…"`, value)
	}
	return step{key: value, by: by}, rest, nil
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
func (p fieldPath) String() string {
	var out strings.Builder
	for i, s := range p {
		switch {
		case s.position:
			out.WriteString("[" + s.key + "]")
		case s.by != "" && s.quoted:
			out.WriteString("[" + s.by + "=" + strconv.Quote(s.key) + "]")
		case s.by != "":
			out.WriteString("[" + s.by + "=" + s.key + "]")
		case !plainKey.MatchString(s.key):
			out.WriteString("[" + strconv.Quote(s.key) + "]")
		case i > 0:
			out.WriteString("." + s.key)
		default:
			out.WriteString(s.key)
		}
	}
	return out.String()
}

// with is the path to a member below.
func (p fieldPath) with(key string) fieldPath {
	return append(p[:len(p):len(p)], step{key: key})
}

// keys are the members on the way; the items of lists are left out.
func (p fieldPath) keys() []string {
	var keys []string
	for _, s := range p {
		if s.by == "" && !s.position {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// isItem says whether the path ends at the item of a list.
func (p fieldPath) isItem() bool { return len(p) > 0 && p[len(p)-1].by != "" }
