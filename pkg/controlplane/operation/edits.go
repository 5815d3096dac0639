// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// edits are the arguments that most operations share: what to set, by name, and which names to remove.
type edits struct {
	Set    source.Node   `json:"set"`
	Remove []source.Node `json:"remove"`
}

// containerEdits are edits of a container; without a name it is the one that the contract requires.
type containerEdits struct {
	Set       source.Node   `json:"set"`
	Remove    []source.Node `json:"remove"`
	Container string        `json:"container"`
}

// decodeEdits decodes edits; where names stand beside each other as if they were arguments, the finding says where they belong.
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

// container is the container that the arguments mean.
func (c *Context) container(name string) string {
	if name == "" {
		return c.Target.Container
	}
	return name
}

// compiler says how the entries of edits become writes.
type compiler struct {
	place Place
	// value compiles what is to be set.
	value func(n source.Node, path string) (Value, source.Findings)
	// check judges a name; nil: every name that is not empty will do.
	check func(name string) string
	// rule is that of a name that check refuses, and known are the names that there are; nil: any that is written as such names are.
	rule  func(name string) source.Rule
	known []string
	apply func(name string) func(*target.Object, Resolved) error
	// keep is nil where places cannot be kept.
	keep func(name string) func(*target.Object) error
}

func (k compiler) compile(arguments source.Node, path string, set source.Node, remove []source.Node) ([]Write, source.Findings) {
	var (
		writes   []Write
		findings source.Findings
	)
	if set.Node != nil && !set.Absent() && set.Kind != yaml.MappingNode {
		return nil, source.Findings{set.Finding(path+".set", "must be a mapping of names to values").Of(source.WrongType)}
	}
	add := func(key source.Node, at source.Node, path string, value Value) {
		if problem := k.checkName(key.Value); problem != "" {
			findings = append(findings, key.Finding(path, "%s", problem).Of(k.ruleOf(key.Value)).Instead(key, k.known))
			return
		}
		place := k.place
		place.Name = key.Value
		write := Write{Place: place, Value: value, At: at, Path: path, Apply: k.apply(key.Value)}
		if k.keep != nil {
			write.Keep = k.keep(key.Value)
		}
		writes = append(writes, write)
	}
	for _, field := range set.Fields() {
		inner := path + ".set." + field.Key.Value
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

// checkName judges a name in which nothing is evaluated.
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
