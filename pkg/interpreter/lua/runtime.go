// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// runtimeText are the functions that scripts call, each with a line that says what it is for; those that a function calls stand before it.
//
//go:embed runtime.lua
var runtimeText string

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

// functions are all of them, in their order.
var functions = sync.OnceValue(func() []function {
	var all []function
	for _, text := range strings.Split(runtimeText, "\n\n") {
		at := functionHead.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		f := function{name: text[at[2]:at[3]], text: strings.TrimSpace(text)}
		words := foreign(text[at[0]:])
		for _, earlier := range all {
			if slices.Contains(words, earlier.name) {
				f.calls = append(f.calls, earlier.name)
			}
		}
		all = append(all, f)
	}
	return all
})

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
	return slices.ContainsFunc(functions(), func(f function) bool { return f.name == name })
}

// prelude are the functions that are used, and those that they call.
func prelude(used map[string]bool) []string {
	needed := map[string]bool{}
	all := functions()
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
