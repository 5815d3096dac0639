// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// namedObjects compiles edits of objects in a list that are identified by a member, their key.
type namedObjects struct {
	kind   Kind
	key    string
	shape  func([]byte) ([]byte, error)
	checks []check
	// name judges a name; nil: every name will do.
	name  func(string) string
	apply func(*target.Object, string, Resolved) error
}

func (o namedObjects) compile(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return compiler{
		place: Place{Kind: o.kind},
		check: o.name,
		value: func(n source.Node, path string) (Value, source.Findings) {
			if n.Node == nil || n.Kind != yaml.MappingNode {
				return Value{}, source.Findings{n.Finding(path, "must be a mapping of fields").Of(source.WrongType)}
			}
			for _, field := range n.Fields() {
				if field.Key.Value == o.key {
					return Value{}, source.Findings{field.Key.Finding(path, "%s is the key of this mapping; remove it here", o.key).Of(MisplacedField)}
				}
			}
			value, findings := c.Tree(n, path)
			if len(findings) == 0 {
				value, findings = value.shaped(o.shape, n, path)
			}
			if len(findings) == 0 {
				findings = runChecks(o.checks, n, path)
			}
			return value, findings
		},
		apply: o.apply,
	}.compileEdits(arguments, path)
}

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
	// check judges a name; nil: every name that is not empty will do.
	check func(name string) string
	// rule is the rule of findings for names that check rejects, and known are the possible names. If known is nil, any
	// name of the right form is possible.
	rule  func(name string) source.Rule
	known []string
	apply func(o *target.Object, name string, v Resolved) error
	// keep is nil where places cannot be kept.
	keep func(name string) func(*target.Object) error
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
		if problem := k.checkName(key.Value); problem != "" {
			findings = append(findings, key.Finding(path, "%s", problem).Of(k.ruleOf(key.Value)).Instead(key, k.known))
			return
		}
		place := k.place
		place.Name = key.Value
		write := Write{Place: place, Value: value, At: at, Path: path, Apply: func(o *target.Object, v Resolved) error {
			return k.apply(o, place.Name, v)
		}}
		if k.keep != nil {
			write.Keep = k.keep(key.Value)
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

func (k compiler) ruleOf(name string) source.Rule {
	if k.rule == nil || checkName(name) != "" {
		return source.InvalidName
	}
	return k.rule(name)
}

func (k compiler) checkName(name string) string {
	if problem := checkName(name); problem != "" {
		return problem
	}
	if k.check == nil {
		return ""
	}
	return k.check(name)
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
