// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path is a field of an object as people write it: status.nodesCIDR, metadata.annotations["a.b/c"],
// status.networks.subnets[purpose=nodes].id, spec.zones[0].
type Path string

// step is one step of a path: a member, an item by its index, or the first item that has a member with this text.
type step struct {
	member     string
	index      int
	key, value string
	kind       stepKind
}

type stepKind int

const (
	byMember stepKind = iota
	byIndex
	byKey
)

// ParsePath checks a path; the error says what is wrong with it.
func ParsePath(text string) (Path, error) {
	_, err := stepsOf(text)
	return Path(text), err
}

// In is the value at the path in an object; false when there is none, or it is null.
func (p Path) In(object any) (any, bool) {
	steps, err := stepsOf(string(p))
	if err != nil {
		return nil, false
	}
	value := object
	for _, s := range steps {
		if value = s.of(value); value == nil {
			return nil, false
		}
	}
	return value, true
}

func (s step) of(value any) any {
	if s.kind == byMember {
		members, _ := value.(map[string]any)
		return members[s.member]
	}
	items, _ := value.([]any)
	if s.kind == byIndex {
		if s.index < len(items) {
			return items[s.index]
		}
		return nil
	}
	for _, item := range items {
		if members, _ := item.(map[string]any); members[s.key] == s.value {
			return item
		}
	}
	return nil
}

var errEmptyPath = errors.New("a path must not have an empty part")

func stepsOf(text string) ([]step, error) {
	var steps []step
	rest, first := text, true
	for first || rest != "" {
		var (
			s   step
			err error
		)
		switch {
		case strings.HasPrefix(rest, "["):
			s, rest, err = bracket(rest)
		case !first && !strings.HasPrefix(rest, "."):
			return nil, errors.New("a dot or a bracket must follow a bracket")
		default:
			if !first {
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			s.member, rest = rest[:end], rest[end:]
			if s.member == "" || strings.ContainsAny(s.member, "] \"'=") {
				err = errEmptyPath
				if s.member != "" {
					err = fmt.Errorf("%q is no name of a field; others are written [\"…\"]", s.member)
				}
			}
		}
		if err != nil {
			return nil, err
		}
		steps, first = append(steps, s), false
	}
	return steps, nil
}

// bracket reads ["member"], [3] or [key=value] at the beginning of the text, and returns what follows.
func bracket(text string) (s step, rest string, err error) {
	if strings.HasPrefix(text, `["`) {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil || !strings.HasPrefix(text[1+len(quoted):], "]") {
			return step{}, "", errors.New(`a name in brackets is written ["…"]`)
		}
		member, _ := strconv.Unquote(quoted)
		return step{member: member}, text[len(quoted)+2:], nil
	}
	inner, rest, ok := strings.Cut(text[1:], "]")
	if !ok {
		return step{}, "", errors.New("a bracket is not closed")
	}
	if key, value, ok := strings.Cut(inner, "="); ok {
		if key == "" {
			return step{}, "", errEmptyPath
		}
		return step{kind: byKey, key: key, value: value}, rest, nil
	}
	index, err := strconv.ParseUint(inner, 10, 16)
	if err != nil {
		return step{}, "", fmt.Errorf(`[%s] is neither an index, nor ["name"], nor [key=value]`, inner)
	}
	return step{kind: byIndex, index: int(index)}, rest, nil
}
