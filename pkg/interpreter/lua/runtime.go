// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"embed"
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

// variant says what a script contains. Without it, some functions are simpler.
type variant struct {
	// selects is true if a path of the profile selects a list item, positions if an expression has an index that may be
	// a number.
	selects, positions bool
	// nulls is true if an expression has the value null.
	nulls bool
}

// simpler returns the files with the simpler functions of a variant.
func (v variant) simpler() (files []string) {
	if !v.selects {
		files = append(files, "plain")
	}
	if !v.positions {
		files = append(files, "named")
	}
	if !v.nulls {
		files = append(files, "nonnull")
	}
	return files
}

// function is a runtime function.
type function struct {
	name, text string
	calls      []string
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

// functions returns the functions of each variant, in order.
var functions = sync.OnceValue(func() map[variant][]function {
	all := map[variant][]function{}
	for bits := range 8 {
		v := variant{selects: bits&1 > 0, positions: bits&2 > 0, nulls: bits&4 > 0}
		simpler := map[string]function{}
		for _, file := range v.simpler() {
			for _, f := range parsed(file) {
				simpler[f.name] = f
			}
		}
		for _, part := range parts {
			for _, f := range parsed(part) {
				if other, ok := simpler[f.name]; ok {
					f = other
				}
				all[v] = append(all[v], linked(f, all[v]))
			}
		}
	}
	return all
})

// parsed returns the functions of a file.
func parsed(file string) []function {
	text, err := files.ReadFile("runtime/" + file + ".lua")
	if err != nil {
		return nil // unreachable: the file is part of the program
	}
	var all []function
	for _, part := range strings.Split(string(text), "\n\n") {
		if head := functionHead.FindStringSubmatch(part); head != nil {
			all = append(all, function{name: head[1], text: strings.TrimSpace(comment.ReplaceAllString(part, ""))})
		}
	}
	return all
}

// linked returns the function with the names of the earlier functions that it calls.
func linked(f function, before []function) function {
	_, body, _ := strings.Cut(f.text, "local function "+f.name)
	words := foreign("function" + body)
	for _, earlier := range before {
		if slices.Contains(words, earlier.name) {
			f.calls = append(f.calls, earlier.name)
		}
	}
	return f
}

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
	return slices.ContainsFunc(functions()[variant{}], func(f function) bool { return f.name == name })
}

// prelude returns the texts of the used functions and of those that they call.
func prelude(used map[string]bool, v variant) []string {
	needed := map[string]bool{}
	all := functions()[v]
	for _, f := range slices.Backward(all) {
		if used[f.name] || needed[f.name] {
			needed[f.name] = true
			for _, called := range f.calls {
				needed[called] = true
			}
		}
	}
	var texts []string
	for _, f := range all {
		if needed[f.name] {
			texts = append(texts, f.text)
		}
	}
	return texts
}
