// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// edits are the arguments that most operations share: values to set, by name, and names to remove.
type edits struct {
	Set    source.Node   `json:"set"`
	Remove []source.Node `json:"remove"`
}

// containerEdits are edits of a container; without a name, of the container that the contract requires.
type containerEdits struct {
	Set       source.Node   `json:"set"`
	Remove    []source.Node `json:"remove"`
	Container string        `json:"container"`
}

// decodeEdits decodes edits. If names are written directly as arguments, the finding has their place.
func decodeEdits(arguments source.Node, path string, into any) source.Findings {
	findings := source.Decode(arguments, path, into)
	fields := arguments.Fields()
	if len(findings) == 0 || slices.ContainsFunc(fields, func(f source.Field) bool {
		return slices.Contains([]string{"set", "remove", "container"}, f.Key.Value)
	}) {
		return findings
	}
	for i := range findings {
		message := &findings[i].Message
		if strings.HasPrefix(*message, "unknown field") && !strings.Contains(*message, "did you mean") {
			*message += ": names stand below set, as in set: {name: value}, or in remove"
		}
	}
	return findings
}

// container returns the name of the container that the arguments select.
func (c *Context) container(name string) string {
	if name == "" {
		return c.Target.Container
	}
	return name
}

// compiler converts the entries of edits to writes.
type compiler struct {
	place Place
	// field is the argument with the values, for findings; "set" if empty.
	field string
	// value compiles a value.
	value func(n source.Node, path string) (Value, source.Findings)
	// check returns the problem of a name; nil accepts every name that is not empty. rule is the rule of its findings;
	// source.InvalidName if empty.
	check func(name string) string
	rule  source.Rule
	// known lists the possible names. For another name, the finding has the rule unknown, and entry describes what the
	// name is not. If known is nil, any name of the right form is possible.
	known   []string
	unknown source.Rule
	entry   string
	apply   func(o *target.Object, name string, v Resolved) error
	// keep restores the place from the old object; nil where places cannot be kept.
	keep func(name string) func(*target.Object) error
	// path returns the path of an entry in the object; nil for entries inside texts.
	path func(name string) fieldPath
}

// with returns a function that compiles values in the context.
func (c *Context) with(compile func(*Context, source.Node, string) (Value, source.Findings)) func(source.Node, string) (Value, source.Findings) {
	return func(n source.Node, path string) (Value, source.Findings) { return compile(c, n, path) }
}

// compileEdits compiles arguments with set and remove only.
func (k compiler) compileEdits(arguments source.Node, path string) ([]Write, source.Findings) {
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	return k.compile(arguments, path, a.Set, a.Remove)
}

func (k compiler) compile(arguments source.Node, path string, set source.Node, remove []source.Node) ([]Write, source.Findings) {
	var (
		writes   []Write
		findings source.Findings
	)
	at := path + "." + cmp.Or(k.field, "set")
	if set.Node != nil && !set.Absent() && set.Kind != yaml.MappingNode {
		return nil, source.Findings{set.Finding(at, "must be a mapping of names to values").Of(source.WrongType)}
	}
	add := func(key source.Node, at source.Node, path string, value Value) {
		name := key.Value
		if problem := k.problemOf(key, path); problem != nil {
			findings = append(findings, *problem)
			return
		}
		write := Write{Place: k.place, Value: value, At: at, Path: path, Apply: func(o *target.Object, v Resolved) error {
			return k.apply(o, name, v)
		}}
		write.Place.Name = name
		if k.keep != nil {
			write.Keep = k.keep(name)
		}
		if k.path != nil {
			write.trace = k.path(name).trace()
		}
		writes = append(writes, write)
	}
	for _, field := range set.Fields() {
		inner := at + "." + field.Key.Value
		value, problems := k.value(field.Value, inner)
		findings = append(findings, problems...)
		if len(problems) == 0 {
			add(field.Key, field.Value, inner, value)
		}
	}
	for _, name := range remove {
		if name.Node == nil || name.Kind != yaml.ScalarNode || name.Absent() {
			findings = append(findings, name.Finding(path+".remove", "must be a list of names").Of(source.WrongType))
			continue
		}
		add(name, name, path+".remove", Remove())
	}
	if len(writes)+len(findings) == 0 {
		findings = append(findings, arguments.Finding(path, "nothing to set and nothing to remove").Of(NothingToDo))
	}
	return writes, findings
}

// problemOf returns the finding about a name, or nil.
func (k compiler) problemOf(key source.Node, path string) *source.Finding {
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
	finding := key.Finding(path, "%s", problem).Of(rule).Instead(key, k.known)
	return &finding
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
