// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// customization writes the scripts for the operations that have rules.
func (t *translator) customization(kind interpreter.Kind, operations []interpreter.Operation) Customization {
	c := newCustomization(kind)
	for _, operation := range operations {
		all := t.program.Places(kind, operation)
		field, ok := fields[operation]
		if !ok {
			t.add(all[0].FindingOf(NotInLua, "omitted: Karmada has no script for %s", operation).Warn())
			continue
		}
		s := &script{translator: t, kind: kind, operation: operation, used: map[string]bool{}}
		s.write(all)
		c.Spec.Customizations[field] = s.finished()
	}
	return c
}

// write writes the function that Karmada calls.
func (s *script) write(all []rule.Place) {
	switch s.operation {
	case interpreter.Replicas:
		s.block("function GetReplicas(object)", func() { s.first(all, s.replicas) })
	case interpreter.Health:
		s.begin = "local status = " + invoke(s.use("status_of"), "object").text
		s.block("function InterpretHealth(object)", func() { s.first(all, s.health) })
	case interpreter.Revise:
		s.editing("function ReviseReplica(object, replicas)", all, func(p source.Place) { s.when(p, func() { s.changes(p, "result") }) })
	case interpreter.Retain:
		s.editing("function Retain(object, observed)", all, s.retain)
	case interpreter.Aggregate:
		s.begin = "local members = " + invoke(s.use("members_of"), "statuses").text
		s.editing("function AggregateStatus(object, statuses)", all, s.aggregate)
	case interpreter.Status:
		s.begin = "local status = " + invoke(s.use("status_of"), "object").text
		s.flat = keepsWholeFields(all)
		s.collecting("function ReflectStatus(object)", "made", all, s.status)
	case interpreter.Dependencies:
		s.single = len(all) == 1 && all[0].At("forEach").Absent()
		s.collecting("function GetDependencies(object)", "dependencies", all, s.dependencies)
	case interpreter.Components:
		s.collecting("function GetComponents(object)", "components", all, s.components)
	}
}

// rule begins a rule with a comment of its place.
func (s *script) rule(d rule.Place) {
	s.profile, s.items = d.Profile, false
	s.line("-- " + s.profile + ": " + d.Path)
	if s.begin != "" {
		s.line(s.begin)
		s.begin = ""
	}
}

// first writes rules. The first applicable rule answers.
func (s *script) first(all []rule.Place, answer func(source.Place)) {
	for _, d := range all {
		s.rule(d)
		s.when(d.Place, func() { answer(d.Place) })
		if s.hides(d.Place) {
			return
		}
	}
	s.line("error(" + quote("no rule of "+string(s.operation)+" applies to the object") + ", 0)")
}

// editing writes rules that change the object. Expressions see the original object: if one reads what rules may change,
// the script changes a copy.
func (s *script) editing(head string, all []rule.Place, edit func(source.Place)) {
	s.block(head, func() {
		for _, d := range all {
			s.rule(d)
			edit(d.Place)
		}
		s.line("return result")
	})
	before, after := "(object", "(result"
	switch {
	case s.reads:
		before, after = head, head+"\n  local result = "+invoke(s.use("copy"), "object").text
	case slices.Contains(word.FindAllString(literal.ReplaceAllString(strings.TrimPrefix(s.lines.String(), head), ""), -1), "object"):
		before, after = head, head+"\n  local result = object"
	}
	text := strings.Replace(s.lines.String(), before, after, 1)
	s.lines.Reset()
	s.lines.WriteString(text)
}

// collecting writes rules that all contribute to the result if they apply.
func (s *script) collecting(head, name string, all []rule.Place, add func(source.Place)) {
	s.block(head, func() {
		s.line("local " + name + " = {}")
		for _, d := range all {
			s.rule(d)
			add(d.Place)
		}
		s.line("return " + name)
	})
}

func (s *script) replicas(p source.Place) {
	answer := s.count(p.At("count")).text
	if !p.At("requirements").Absent() {
		answer += ", " + s.requirements(p.At("requirements")).text
	}
	s.line("return " + answer)
}

func (s *script) health(p source.Place) {
	healthy, ok := s.condition(p.At("healthy"))
	if !ok {
		healthy = atom("true")
	}
	s.line("return " + healthy.text)
}

// changes writes the changes that a rule makes.
func (s *script) changes(p source.Place, target string) {
	if refused := p.At("refuse"); !refused.Absent() {
		s.line("error(" + quote(s.profile+": "+refused.Path+": ") + " .. " + s.template(refused, true).within(rankConcat) + ", 0)")
	}
	p.At("set").Members(func(key, value source.Place) { s.set(value, target, key.Node.Value) })
	for i, path := range p.At("remove").Value().Items() {
		s.assign(p.At("remove").Item(i), target, path.Value, "nil", false)
	}
}

// keepsWholeFields reports whether all rules for the reflected status keep and set only fields of the status itself.
// The script then changes no table of the object, and need not copy it.
func keepsWholeFields(all []rule.Place) bool {
	for _, d := range all {
		for _, path := range d.At("keep").Value().Items() {
			if len(keys(path.Value)) != 1 {
				return false
			}
		}
		for _, field := range d.At("set").Value().Fields() {
			if len(keys(field.Key.Value)) != 1 {
				return false
			}
		}
	}
	return true
}

// status writes a rule for the reflected status.
func (s *script) status(p source.Place) {
	s.when(p, func() {
		whole := p.At("keep").Absent() && p.At("set").Absent()
		switch kept := p.At("keep").Value().Items(); {
		case whole && s.flat:
			s.block("for field, value in pairs(status) do", func() { s.line("made[field] = value") })
		case whole:
			s.line(invoke(s.use("keep_all"), "made", "status").text)
		case len(kept) > 0 && s.flat:
			fields := s.members(p.At("keep"), func(path string) string { return quote(keys(path)[0]) })
			s.block("for _, field in ipairs("+fields+") do", func() { s.line("made[field] = status[field]") })
		case len(kept) > 0:
			arguments := []string{"made", "status"}
			for i := range kept {
				arguments = append(arguments, s.path(p.At("keep").Item(i)))
			}
			s.line(invoke(s.use("keep"), arguments...).text)
		}
		s.changes(p, "made")
	})
}

// retain writes a rule for the fields of the observed object to keep.
func (s *script) retain(p source.Place) {
	keep := func(target, observed string) {
		s.when(p, func() {
			for i := range p.At("fields").Value().Items() {
				s.line(invoke(s.use("retain"), target, observed, s.path(p.At("fields").Item(i))).text)
			}
			s.changes(p, target)
		})
	}
	if p.At("items").Absent() {
		keep("result", "observed")
		return
	}
	s.items, s.reads = true, true
	both := invoke(s.use("both_of"), "object", "result", "observed", s.path(p.At("items").At("path")), s.path(p.At("items").At("key"))).text
	s.block("for _, both in ipairs("+both+") do", func() {
		s.line("local item, observedItem = both.item, both.observed")
		keep("both.result", "observedItem")
	})
}

// dependencies writes a rule for dependencies.
func (s *script) dependencies(p source.Place) {
	s.each(p, func() {
		fields := []string{
			member("apiVersion", s.checked(p, "apiVersion", "api_version")), member("kind", s.checked(p, "kind", "kind_name")),
			member("namespace", atom("object.metadata.namespace")),
		}
		if namespace := p.At("namespace"); !namespace.Absent() {
			fields[2] = member("namespace", invoke(s.use("unless_blank"), s.template(namespace, true).text))
		}
		if name := p.At("name"); !name.Absent() {
			fields = append(fields, member("name", s.template(name, true)))
		}
		if selector := p.At("labelSelector"); !selector.Absent() {
			fields = append(fields, member("labelSelector", invoke(s.use("selector"), s.value(selector).text)))
		}
		if s.single {
			s.line("dependencies[1] = " + invoke(s.use("dependency"), table(fields).text).text)
			return
		}
		s.line(invoke(s.use("add_dependency"), "dependencies", table(fields).text).text)
	})
}

// checked returns a string. A computed one is checked by a runtime function; a literal was checked by the
// compiler.
func (s *script) checked(p source.Place, field, check string) code {
	written := s.template(p.At(field), field != "kind") // a kind is a string, or invalid
	if !strings.Contains(p.At(field).Value().Value, "${") {
		return written
	}
	return invoke(s.use(check), written.text)
}

// components writes a rule for the parts of a workload.
func (s *script) components(p source.Place) {
	s.each(p, func() {
		fields := []string{member("name", s.template(p.At("name"), true)), member("replicas", s.count(p.At("count")))}
		if needed := p.At("requirements"); !needed.Absent() {
			fields = append(fields, member("replicaRequirements", s.requirements(needed)))
		}
		s.line(invoke(s.use("add_component"), "components", table(fields).text).text)
	})
}

// each writes code that runs for each item of forEach, or once.
func (s *script) each(p source.Place, do func()) {
	list := p.At("forEach")
	if list.Absent() {
		s.when(p, do)
		return
	}
	all := invoke(s.use("list"), s.template(list, false).text).text
	s.items = true
	s.block("for _, item in ipairs("+all+") do", func() { s.when(p, do) })
}

// byPath lists the aggregations that need only a path. Those in scalars return no tables.
var (
	byPath  = []string{"sum", "min", "max", "all", "any", "same", "first", "join", "common"}
	scalars = []string{"sum", "min", "max", "all", "any", "join"}
)

// aggregate writes one field of a status.
func (s *script) aggregate(p source.Place) {
	s.when(p, func() {
		if value := p.At("value"); !value.Absent() {
			s.set(value, "result", p.At("field").Value().Value)
			return
		}
		s.assign(p.At("field"), "result", p.At("field").Value().Value, s.combined(p), false)
	})
}

// combined returns the aggregated value of the members.
func (s *script) combined(p source.Place) string {
	for _, field := range p.Value().Fields() {
		name := field.Key.Value
		at := p.At(name)
		var written code
		switch {
		case name == "worst":
			order := s.members(at.At("order"), quote)
			written = invoke(s.use("worst_of"), "members", s.path(at.At("path")), s.path(at.At("by")), order)
		case name == "union":
			arguments := []string{"members", s.path(at.At("path")), s.path(at.At("key"))}
			if prefix := at.At("prefix"); !prefix.Absent() {
				arguments = append(arguments, s.path(prefix))
			}
			written = invoke(s.use("union_of"), arguments...)
		case name == "conditions":
			negative := s.members(at.At("negative"), func(name string) string { return member(name, atom("true")) })
			written = invoke(s.use("conditions_of"), "members", s.path(at.At("path")), negative)
		case slices.Contains(byPath, name):
			written = invoke(s.use(name+"_of"), "members", s.path(at))
		default:
			continue
		}
		if slices.Contains(scalars, name) {
			return written.text
		}
		return invoke(s.use("copy"), written.text).text
	}
	return "nil"
}

// members returns a table with a member for each text of a list.
func (s *script) members(list source.Place, write func(text string) string) string {
	var members []string
	for _, item := range list.Value().Items() {
		members = append(members, write(item.Value))
	}
	return table(members).text
}
