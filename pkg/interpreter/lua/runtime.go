// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// files contains the runtime functions, each with a comment, which scripts do not contain. A function follows the ones that it calls.
//
//go:embed runtime/*.lua
var files embed.FS

// parts lists the files in the order of declarations.
var parts = []string{
	"values", "conditions", "lists", "numbers", "texts", "times", "quantities", "versions", "paths", "answers", "members",
}

// variant lists the features that a script uses. Some functions are simpler without them.
type variant struct {
	// selects is true if a path of the profile selects a list item, positions if an expression has an index that may be
	// a number.
	selects, positions bool
	// nulls is true if an expression has the value null.
	nulls bool
}

// simpler returns the simpler functions of a variant, by name.
func (v variant) simpler() map[string]function {
	simpler := map[string]function{}
	for file, needless := range map[string]bool{"plain": !v.selects, "named": !v.positions, "nonnull": !v.nulls} {
		if needless {
			for _, f := range functions()[file] {
				simpler[f.name] = f
			}
		}
	}
	return simpler
}

// function is a runtime function. words has the names of functions that it calls, and of anything else.
type function struct {
	name, text string
	words      []string
}

var (
	functionHead = regexp.MustCompile(`(?m)^local function (\w+)\(`)
	// comment matches what scripts do not contain: comments and indentation.
	comment = regexp.MustCompile(`(?m)^ *--.*\n|^ +`)
	// literal matches comments and strings, and word names, fields with a dot.
	literal = regexp.MustCompile(`--.*|"(\\.|[^"\\])*"`)
	word    = regexp.MustCompile(`\.?\w+`)
)

// functions returns the functions of each file, in order.
var functions = sync.OnceValue(func() map[string][]function {
	all := map[string][]function{}
	for _, file := range slices.Concat(parts, []string{"plain", "named", "nonnull"}) {
		text, _ := files.ReadFile("runtime/" + file + ".lua") // the file is part of the program
		for _, part := range strings.Split(string(text), "\n\n") {
			if head := functionHead.FindStringSubmatch(part); head != nil {
				body := strings.TrimSpace(comment.ReplaceAllString(part, ""))
				all[file] = append(all[file], function{head[1], body, word.FindAllString(literal.ReplaceAllString(body, ""), -1)})
			}
		}
	}
	return all
})

// isFunction reports whether name is a runtime function.
func isFunction(name string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.ContainsFunc(functions()[part], func(f function) bool { return f.name == name })
	})
}

// prelude returns the texts of the used functions and of those that they call, which precede them.
func prelude(used map[string]bool, v variant) []string {
	needed, simpler := maps.Clone(used), v.simpler()
	var texts []string
	for _, part := range slices.Backward(parts) {
		for _, f := range slices.Backward(functions()[part]) {
			if !needed[f.name] {
				continue
			}
			if other, ok := simpler[f.name]; ok {
				f = other
			}
			for _, name := range f.words {
				needed[name] = true
			}
			texts = append(texts, f.text)
		}
	}
	slices.Reverse(texts)
	return texts
}
