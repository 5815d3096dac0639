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

// plain is the file with simpler variants of some functions, for scripts without list items in paths.
const plain = "plain"

// function is a runtime function.
type function struct {
	name, text string
	calls      []string
}

var (
	functionHead = regexp.MustCompile(`(?m)^local function (\w+)\(`)
	comment      = regexp.MustCompile(`(?m)^ *--.*\n`)
	// These expressions find words that do not refer to runtime functions: strings, fields, and local names.
	texts    = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	word     = regexp.MustCompile(`\.?\w+`)
	declared = regexp.MustCompile(`(?:local|for) ([\w, ]+?)(?: =| in |\n)|function ?\w*\(([\w, ]*)`)
)

// functions returns all functions in order, and the variants for scripts with plain paths.
var functions = sync.OnceValues(func() (all, simple []function) {
	simpler := map[string]function{}
	for _, f := range parsed(plain) {
		simpler[f.name] = f
	}
	for _, part := range parts {
		for _, f := range parsed(part) {
			other, ok := simpler[f.name]
			if !ok {
				other = f
			}
			all, simple = append(all, linked(f, all)), append(simple, linked(other, simple))
		}
	}
	return all, simple
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
	all, _ := functions()
	return slices.ContainsFunc(all, func(f function) bool { return f.name == name })
}

// prelude returns the texts of the used functions and of those that they call.
func prelude(used map[string]bool, items bool) []string {
	needed := map[string]bool{}
	all, simple := functions()
	if !items {
		all = simple
	}
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
