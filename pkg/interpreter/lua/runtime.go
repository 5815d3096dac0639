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

// files have the functions that scripts call, each with a line that says what it is for. Those that a function calls stand before it.
//
//go:embed runtime/*.lua
var files embed.FS

// parts are the files in which a function is looked for, in this order.
var parts = []string{
	"values", "conditions", "lists", "numbers", "texts", "times", "quantities", "versions", "paths", "answers", "members",
}

// plain is the file with simpler functions in place of some of those, for scripts in whose paths there are no items of lists.
const plain = "plain"

// function is one of them.
type function struct {
	name, text string
	calls      []string
}

var (
	functionHead = regexp.MustCompile(`(?m)^local function (\w+)\(`)
	// What is no name of a function: texts, fields, and names that a function declares for itself.
	texts    = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	word     = regexp.MustCompile(`\.?\w+`)
	declared = regexp.MustCompile(`(?:local|for) ([\w, ]+?)(?: =| in |\n)|function ?\w*\(([\w, ]*)`)
)

// functions are all of them, in their order, and those for scripts with plain paths.
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

// parsed takes the functions of a file apart.
func parsed(file string) []function {
	text, err := files.ReadFile("runtime/" + file + ".lua")
	if err != nil {
		return nil // the file is part of the program
	}
	var all []function
	for _, part := range strings.Split(string(text), "\n\n") {
		if head := functionHead.FindStringSubmatch(part); head != nil {
			all = append(all, function{name: head[1], text: strings.TrimSpace(part)})
		}
	}
	return all
}

// linked is a function that knows which of those before it it calls.
func linked(f function, before []function) function {
	_, body, _ := strings.Cut(f.text, "\nlocal function "+f.name)
	words := foreign("function" + body)
	for _, earlier := range before {
		if slices.Contains(words, earlier.name) {
			f.calls = append(f.calls, earlier.name)
		}
	}
	return f
}

// foreign are the words of a function that it does not declare for itself.
func foreign(text string) []string {
	text = texts.ReplaceAllString(text, "")
	var own []string
	for _, names := range declared.FindAllStringSubmatch(text, -1) {
		own = append(own, word.FindAllString(names[1]+","+names[2], -1)...)
	}
	return slices.DeleteFunc(word.FindAllString(text, -1), func(name string) bool { return slices.Contains(own, name) })
}

// isFunction says whether a name is that of a function of the runtime.
func isFunction(name string) bool {
	all, _ := functions()
	return slices.ContainsFunc(all, func(f function) bool { return f.name == name })
}

// prelude are the functions that are used, and those that they call.
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
