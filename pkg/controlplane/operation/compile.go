// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// check returns the findings about the names of arguments, and about their values as far as only the type decides. The
// operation checks the remaining values.
func (t Type) check(n source.Node, path string) source.Findings {
	switch {
	case t.Form == Fields:
		return checkMembers(n, path, t.Fields)
	case t.Form == Mapping && t.Items.Form == Fields:
		var findings source.Findings
		for _, field := range n.Fields() {
			findings = append(findings, t.Items.check(field.Value, path+"."+field.Key.Value)...)
		}
		return findings
	case t.Form == Scalar && n.Kind != yaml.ScalarNode:
		return source.Findings{n.Finding(path, "must be a string, a number or a boolean").Of(source.WrongType)}
	case t.Computed:
		return nil
	case t.Form == String:
		return source.Decode(n, path, new(string))
	case t.Form == Boolean:
		return source.Decode(n, path, new(bool))
	case t.Form == List:
		return source.Decode(n, path, new([]source.Node))
	}
	return nil
}

// checkMembers checks a mapping with fixed members. The operation checks required strings, which have a form.
func checkMembers(n source.Node, path string, members []Argument) source.Findings {
	known := make([]string, len(members))
	for i, member := range members {
		known[i] = member.Name
	}
	findings := append(source.Decode(n, path, new(map[string]source.Node)), checkFields(n, path, known)...)
	if known[0] == "set" && !slices.ContainsFunc(known, n.Has) {
		for i := range findings {
			message := &findings[i].Message
			if strings.HasPrefix(*message, "unknown field") && !strings.Contains(*message, "did you mean") {
				*message += ": names stand below set, as in set: {name: value}, or in remove"
			}
		}
	}
	var more source.Findings
	for _, member := range members {
		value, at := n.Get(member.Name), path+"."+member.Name
		switch {
		case value.Absent() && member.Required:
			more = append(more, n.Finding(at, "is missing").Of(source.MissingField))
		case !value.Absent() && (!member.Required || member.Type.Form != String):
			more = append(more, member.Type.check(value, at)...)
		}
	}
	return append(findings, more.Beyond(findings)...)
}

// textOf returns the text of an argument, or an empty string if it is missing.
func textOf(n source.Node) string {
	if n.Absent() {
		return ""
	}
	return n.Value
}

// isTrue reports whether an argument is true.
func isTrue(n source.Node) bool { return strings.EqualFold(textOf(n), "true") }

// container returns the name of the container that the arguments select: by default, the one that the contract requires.
func (c *Context) container(arguments source.Node) string {
	return cmp.Or(textOf(arguments.Get("container")), c.Target.Container)
}

// writeBuilder converts edits to writes, one for each name. Its methods add the writes and findings of one argument.
type writeBuilder struct {
	// place is the place of each write. The name of an entry is appended to its name.
	place Place
	// value compiles a value.
	value func(n source.Node, path string) (Value, source.Findings)
	// check returns the problem of a name; nil accepts every name that is not empty. rule is the rule of its findings;
	// source.InvalidName if empty.
	check func(name string) string
	rule  source.LintRule
	// known lists the possible names. For another name, the finding has the rule unknown, and entry describes what the
	// name is not. If known is nil, any name of the right form is possible.
	known   []string
	unknown source.LintRule
	entry   string
	// keep restores the place from the old object; nil where places cannot be kept.
	keep func(name string) func(*target.Object) error
	// path returns the path of an entry in the object; nil for entries inside texts. apply writes an entry; if nil, path
	// locates it.
	path  func(name string) fieldPath
	apply func(o *target.Object, name string, v Resolved) error

	writes   []Write
	findings source.Findings
}

// with returns a function that compiles values in the context.
func (c *Context) with(compile func(*Context, source.Node, string) (Value, source.Findings)) func(source.Node, string) (Value, source.Findings) {
	return func(n source.Node, path string) (Value, source.Findings) { return compile(c, n, path) }
}

// compileEdits compiles values to set and names to remove.
func (k writeBuilder) compileEdits(arguments source.Node, path string) ([]Write, source.Findings) {
	k.addValues(arguments.Get("set"), path+".set")
	k.addNames(arguments.Get("remove").Items(), path+".remove", Remove())
	return k.result(arguments, path, "nothing to set and nothing to remove")
}

// addValues compiles a mapping of names to values; path is its field.
func (k *writeBuilder) addValues(set source.Node, path string) {
	if !set.Absent() && set.Kind != yaml.MappingNode {
		k.findings = append(k.findings, set.Finding(path, "must be a mapping of names to values").Of(source.WrongType))
		return
	}
	for _, field := range set.Fields() {
		inner := path + "." + field.Key.Value
		value, problems := k.value(field.Value, inner)
		problems = append(problems, k.checkName(field.Key, inner)...)
		k.findings = append(k.findings, problems...)
		if len(problems) == 0 {
			k.add(field.Key.Value, field.Value, inner, value)
		}
	}
}

// addNames gives each name in a list the same value; path is the field of the list.
func (k *writeBuilder) addNames(names []source.Node, path string, value Value) {
	for _, name := range names {
		if name.Absent() || name.Kind != yaml.ScalarNode {
			k.findings = append(k.findings, name.Finding(path, "must be a list of names").Of(source.WrongType))
			continue
		}
		if problems := k.checkName(name, path); len(problems) > 0 {
			k.findings = append(k.findings, problems...)
			continue
		}
		k.add(name.Value, name, path, value)
	}
}

// add adds a write of the value for a name.
func (k *writeBuilder) add(name string, at source.Node, path string, value Value) {
	write := Write{Place: k.place, Value: value, At: at, Path: path}
	write.Place.Name += name
	if k.keep != nil {
		write.Keep = k.keep(name)
	}
	if k.path != nil {
		path := k.path(name)
		write.trace = path.trace()
		write.Apply = func(o *target.Object, v Resolved) error { return path.write(o.Document.Root(), v) }
	}
	if k.apply != nil {
		write.Apply = func(o *target.Object, v Resolved) error { return k.apply(o, name, v) }
	}
	k.writes = append(k.writes, write)
}

// result returns the writes and findings, or a finding with the message if there are none of both.
func (k *writeBuilder) result(arguments source.Node, path, nothing string) ([]Write, source.Findings) {
	if len(k.writes)+len(k.findings) == 0 {
		return nil, source.Findings{arguments.Finding(path, "%s", nothing).Of(NothingToDo)}
	}
	return k.writes, k.findings
}

// checkName returns the finding about a name, or none.
func (k *writeBuilder) checkName(key source.Node, path string) source.Findings {
	name, rule := key.Value, source.InvalidName
	problem := checkName(name)
	if problem == "" && k.check != nil {
		problem, rule = k.check(name), cmp.Or(k.rule, source.InvalidName)
	}
	if problem == "" && k.known != nil && !slices.Contains(k.known, name) {
		problem, rule = fmt.Sprintf("%q is not %s%s", name, k.entry, source.Suggest(name, k.known)), k.unknown
	}
	if problem == "" {
		return nil
	}
	return source.Findings{key.Finding(path, "%s", problem).Of(rule).Instead(key, k.known)}
}

// matches returns a check of names against a form. The entry completes its message: "x" is not <entry>.
func matches(form *regexp.Regexp, entry string) func(string) string {
	return func(name string) string {
		if !form.MatchString(name) {
			return fmt.Sprintf("%q is not %s", name, entry)
		}
		return ""
	}
}

// checkName validates a name without expressions.
func checkName(name string) string {
	switch {
	case name == "":
		return "a name must not be empty"
	case strings.Contains(name, "${"):
		return "an expression is evaluated in a name only where the rule has forEach"
	default:
		return ""
	}
}
