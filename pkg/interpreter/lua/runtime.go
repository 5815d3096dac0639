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

// function is a runtime function. words may be names of functions that it calls.
type function struct {
	name, text string
	words      []string
}

var (
	functionHead = regexp.MustCompile(`(?m)^local function (\w+)\(`)
	// comment matches what scripts do not contain: comments and indentation.
	comment = regexp.MustCompile(`(?m)^ *--.*\n|^ +`)
	// These expressions find words that do not refer to runtime functions: strings, fields, and local names.
	texts    = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	word     = regexp.MustCompile(`\.?\w+`)
	declared = regexp.MustCompile(`(?:local|for) ([\w, ]+?)(?: =| in |\n)|function ?\w*\(([\w, ]*)`)
)

// functions returns the functions of each file, in order.
var functions = sync.OnceValue(func() map[string][]function {
	all := map[string][]function{}
	for _, file := range slices.Concat(parts, []string{"plain", "named", "nonnull"}) {
		text, _ := files.ReadFile("runtime/" + file + ".lua") // the file is part of the program
		for _, part := range strings.Split(string(text), "\n\n") {
			if head := functionHead.FindStringSubmatch(part); head != nil {
				body := strings.TrimSpace(comment.ReplaceAllString(part, ""))
				all[file] = append(all[file], function{head[1], body, foreign(body)})
			}
		}
	}
	return all
})

// foreign returns the words in a function that it does not declare itself.
func foreign(text string) []string {
	text = texts.ReplaceAllString(text, "")
	var own []string
	for _, names := range declared.FindAllStringSubmatch(text, -1) {
		own = append(own, word.FindAllString(names[1]+","+names[2], -1)...)
	}
	return slices.DeleteFunc(word.FindAllString(text, -1), func(name string) bool { return slices.Contains(own, name) })
}

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
