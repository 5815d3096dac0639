// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"
)

// fixedArguments are those arguments of operations whose strings are taken as they are.
var fixedArguments = map[string][]string{
	"file":                             {"path", "permissions", "encoding", "remove"},
	"machineControllerManagerProvider": {"provider"},
	"volumes":                          {"containers"},
	"patch":                            {"op", "path"},
}

// expressed is the value of an atom as it is written: with ${ escaped, and with expressions in place of what is known. What is of a
// Secret comes first among that.
func (s *subject) expressed(a *atom, known []fact, used map[string]bool) any {
	if a.plain {
		return a.value
	}
	return express(a.value, fixedArguments[a.operation], known, used)
}

func express(value any, fixed []string, known []fact, used map[string]bool) any {
	switch value := value.(type) {
	case tree:
		out := make(tree, len(value))
		for key, member := range value {
			if slices.Contains(fixed, key) {
				out[key] = member
				continue
			}
			out[key] = express(member, fixed, known, used)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = express(item, fixed, known, used)
		}
		return out
	case string:
		return template(value, known, used)
	}
	return value
}

// template writes a text with expressions for the facts in it; used notes which.
func template(text string, known []fact, used map[string]bool) string {
	var out strings.Builder
	plain := 0
	flush := func(end int) { out.WriteString(strings.ReplaceAll(text[plain:end], "${", "$${")) }
	for at := 0; at < len(text); {
		i := slices.IndexFunc(known, func(f fact) bool { return strings.HasPrefix(text[at:], f.text) && f.alone(text, at) })
		if i < 0 || cuts(text, at, known[i], known) {
			at++
			continue
		}
		flush(at)
		out.WriteString("${ " + known[i].expression + " }")
		if !known[i].anywhere {
			used[known[i].expression+" is "+known[i].text] = true
		}
		at += len(known[i].text)
		plain = at
	}
	flush(len(text))
	return out.String()
}

// cuts says whether a fact would take a part of what is of a Secret and begins behind it.
func cuts(text string, at int, f fact, known []fact) bool {
	if f.anywhere {
		return false
	}
	return slices.ContainsFunc(known, func(other fact) bool {
		next := strings.Index(text[at:], other.text)
		return other.anywhere && next >= 0 && next < len(f.text)
	})
}

// alone says whether the fact is no part of a longer word there.
func (f fact) alone(text string, at int) bool {
	if f.anywhere {
		return true
	}
	joins := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || f.words && (c == '-' || c == '_')
	}
	end := at + len(f.text)
	return (at == 0 || !joins(text[at-1]) || text[at-1] == 'v' && f.expression == "shoot.kubernetes") && (end == len(text) || !joins(text[end]))
}
