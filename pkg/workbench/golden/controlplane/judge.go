// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// expect holds an expectation against all objects that it means.
func (r *run) expect(ctx context.Context, e *expectation) {
	some := false
	for _, o := range r.objects {
		if r.concerns(e, o) {
			some = true
			r.judge(ctx, e, o)
		}
	}
	if !some && e.State != v1alpha1.TestAbsent && !e.others {
		r.fail(e.At, e.title, golden.Failure{Message: r.noMatch(e.selector)})
	}
}

// concerns reports whether an expectation concerns an object.
func (r *run) concerns(e *expectation, o *admittedObject) bool {
	if !e.others {
		return e.matches(o)
	}
	return !slices.ContainsFunc(r.expected, func(other expectation) bool { return other.matches(o) })
}

// judge holds an expectation against an object.
func (r *run) judge(ctx context.Context, e *expectation, o *admittedObject) {
	switch fail := func(f golden.Failure) { r.fail(e.At, o.String(), f) }; {
	case e.State == v1alpha1.TestAbsent:
		fail(golden.Failure{Message: "exists, but must be absent"})
		return
	case e.isDenied() && o.denied == nil:
		fail(golden.Failure{Message: "must be denied, but is admitted"})
		return
	case e.isDenied():
		if e.Denied != nil {
			r.judgeDenial(e.Denied, o)
		}
		return
	case o.denied != nil:
		fail(golden.Failure{Message: "is denied: " + o.reason()})
		return
	case e.State == v1alpha1.TestUnchanged && o.changed():
		difference, _ := o.difference(ctx)
		fail(golden.Failure{Message: "must not change, but changes", Diff: difference})
	case e.State == v1alpha1.TestChanged && !o.changed():
		fail(golden.Failure{Message: "must change, but does not" + idle(o)})
	}
	s, err := o.subject(e)
	if err != nil {
		r.fail(e.At, o.String(), golden.Failure{Message: err.Error()})
		return
	}
	for _, f := range e.At.Fields() {
		kind := f.Key.Value
		if f.Value.Kind != yaml.MappingNode {
			continue // such as state
		}
		if kind == "rules" {
			r.judgeRules(f.Value, o)
			continue
		}
		got, err := s.view(kind)
		if err != nil {
			r.fail(f.Value, o.String(), golden.Failure{Path: kind, Message: err.Error()})
			continue
		}
		for _, m := range golden.Compare(f.Value, got) {
			r.fail(m.At, o.String(), golden.Failure{
				Path: kind + "." + strings.Join(m.Keys, "."), Want: m.Want, Got: m.Got,
				By: o.authors(ctx, s.near(kind, m.Keys), m.Got == golden.Absent),
			})
		}
	}
}

func (r *run) judgeDenial(want *v1alpha1.TestDenial, o *admittedObject) {
	if reason := want.Reason; reason.Value != "" && reason.Value != string(o.denied.Reason) {
		r.fail(reason.At, o.String(), golden.Failure{Path: "denied.reason", Want: reason.Value, Got: o.reason()})
	}
	if part := want.Message; !strings.Contains(o.denied.Error(), part.Value) {
		r.fail(part.At, o.String(), golden.Failure{Path: "denied.message", Want: "… " + part.Value + " …", Got: o.denied.Error()})
	}
}

// judgeRules checks the outcomes of rules.
func (r *run) judgeRules(rules source.Node, o *admittedObject) {
	for _, f := range rules.Fields() {
		var known []string
		found, name, want := false, f.Key.Value, f.Value.Value
		fail := func(failure golden.Failure) {
			failure.Path = "rules." + name
			r.fail(f.Value, o.String(), failure)
		}
		for _, rule := range o.applied {
			known = append(known, rule.Name())
			if rule.Name() != name && rule.Rule != name {
				continue
			}
			found = true
			isApplied := rule.Outcome == mutation.Changed || rule.Outcome == mutation.Unchanged
			if string(rule.Outcome) != want && (want != v1alpha1.TestApplied || !isApplied) {
				fail(golden.Failure{Want: want, Got: join(": ", string(rule.Outcome), rule.Reason), By: []string{placed(rule.Position, rule.Name())}})
			}
		}
		switch {
		case found:
		case len(known) == 0:
			fail(golden.Failure{Message: "no rule is for the object"})
		default:
			fail(golden.Failure{Message: fmt.Sprintf("unknown rule %q%s; those for it are %s", name, source.Suggest(name, known), strings.Join(known, ", "))})
		}
	}
}

// idle returns the reason why no rule changed an object.
func idle(o *admittedObject) string {
	if len(o.applied) == 0 {
		return ": no rule is for it"
	}
	var out strings.Builder
	for _, a := range o.applied {
		out.WriteString("\n" + a.Name() + ": " + join(", ", string(a.Outcome), a.Reason))
	}
	return out.String()
}

// placed returns the name of a rule with its file and line, if it has them.
func placed(at source.Position, rule string) string {
	if at == (source.Position{}) {
		return rule
	}
	return fmt.Sprintf("%s:%d %s", at.File, at.Line, rule)
}

// authors returns the rules that wrote the lines with all the texts, each once; for missing lines, the rules that
// removed them.
func (o *admittedObject) authors(ctx context.Context, near []string, gone bool) []string {
	change, err := o.change(ctx)
	if err != nil {
		return nil
	}
	var by []string
	for _, edit := range change.Edits() {
		isNear := func(part string) bool {
			return strings.Contains(edit.Line.Path, part) || strings.Contains(edit.Line.Text, part)
		}
		if edit.By == nil || slices.ContainsFunc(near, func(part string) bool { return !isNear(part) }) {
			continue
		}
		if author := placed(edit.By.Position, edit.By.Rule); !slices.Contains(by, author) {
			by = append(by, author)
		}
	}
	if by == nil && !gone {
		return []string{"no rule: it had this value before"}
	}
	return by
}

// subject is the result of an object as the target that an expectation means.
type subject struct {
	*target.Object

	container string
	decoded   any
}

// subject returns the result for an expectation that matches the object.
func (o *admittedObject) subject(e *expectation) (*subject, error) {
	parsed, err := document.Parse(o.result)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o, err)
	}
	on := e.target
	if on == nil {
		on = target.Other(target.Form{Group: o.Group(), Kind: o.Kind, Name: o.Name})
	}
	form := slices.IndexFunc(on.Forms, func(f target.Form) bool { return f.Is(o.Group(), o.Kind, o.Name) })
	return &subject{&target.Object{Target: on, Form: &on.Forms[form], Document: parsed}, e.Container, decode(parsed.Root())}, nil
}

// decode returns the value of a node of an object.
func decode(n *document.Node) (value any) {
	_ = json.Unmarshal(n.Raw(), &value) // it is part of a parsed document
	return value
}

// near returns texts that the lines of a value have.
func (s *subject) near(kind string, keys []string) []string {
	first, last := keys[0], keys[len(keys)-1]
	switch kind {
	case "flags", "mapFlags", "listFlags":
		if s.Target.Purposed {
			return []string{"--" + first}
		}
		return []string{"--" + first, "[" + s.container + "]"}
	case "containers", "volumes":
		return []string{kind[1:], first, last} // initContainers and containers end alike
	case "units", "files":
		if len(keys) <= 2 { // all of it
			return []string{first}
		}
		return []string{first, lastStep(last)}
	}
	return []string{lastStep(first), lastStep(last)}
}

// lastStep returns the last step of a path.
func lastStep(text string) string {
	path, err := fieldpath.Parse(text)
	if err != nil {
		return text
	}
	return path[len(path)-1].Key
}

// view returns the values that a field of expectations is about, in the form of the field. It fails if a text in the
// object cannot be read.
func (s *subject) view(kind string) (any, error) {
	switch kind {
	case "flags", "mapFlags", "listFlags":
		line, err := s.CommandLine(s.container)
		return golden.View(func(flag string, want source.Node) any {
			if kind == "flags" {
				return texts(want, line.Values(flag)...)
			}
			return entries(kind, line.Values(flag))
		}), err
	case "featureGates":
		if !s.Target.Has(target.KubeletConfiguration) {
			line, err := s.CommandLine(s.container)
			if err != nil {
				return nil, err
			}
			return entries("mapFlags", line.Values("feature-gates")), nil
		}
		configuration, err := s.configuration()
		return below(configuration, kind), err
	case "configuration":
		configuration, err := s.configuration()
		return golden.ByPath(configuration), err
	case "env":
		container, err := s.Container(s.container)
		variables := decode(container.Get(kind))
		return golden.View(func(name string, want source.Node) any {
			variable := fieldpath.Path{{By: "name", Key: name}}.In(variables)
			if value, ok := pathOf("value").In(variable).(string); ok && want.Kind == yaml.ScalarNode && !want.Absent() {
				return texts(want, value)
			}
			return variable
		}), err
	case "containers":
		return golden.View(func(name string, _ source.Node) any {
			container, _ := s.Container(name) // it may be missing
			return decode(container)
		}), nil
	case "volumes":
		return golden.View(func(name string, _ source.Node) any {
			return append(pathOf("spec.template.spec.volumes"), fieldpath.Step{By: "name", Key: name}).In(s.decoded)
		}), nil
	case "units", "files":
		return golden.View(func(name string, want source.Node) any { return s.item(kind, name, want) }), nil
	case "fields":
		return golden.ByPath(s.decoded), nil
	}
	return below(s.decoded, metadata[kind]), nil
}

// configuration returns the configuration of the kubelet.
func (s *subject) configuration() (any, error) {
	file, err := s.KubeletConfiguration()
	if err != nil {
		return nil, err
	}
	whole, _ := file.Get()
	return golden.Canonical(whole)
}

// item returns the values of a unit or a file.
func (s *subject) item(list, name string, want source.Node) any {
	item := append(pathOf("spec."+list), fieldpath.Step{By: identifying[list], Key: name}).In(s.decoded)
	if item == nil || want.Absent() {
		return item
	}
	text, _ := pathOf("content").In(item).(string)
	if pathOf("content.inline").In(item) != nil {
		content, err := s.Content(name)
		if err != nil {
			return err
		}
		text = string(content.Text())
	}
	return golden.View(func(part string, want source.Node) any {
		switch part {
		case "fields":
			return golden.ByPath(item)
		case "sections":
			return sections(text)
		case "content":
			return texts(want, text)
		}
		wrong := []golden.Mismatch{}
		for _, contained := range listOf(want) {
			if strings.Contains(text, contained.Value) != (part == "contains") {
				not := map[string]string{"lacks": "no "}[part]
				wrong = append(wrong, golden.Mismatch{At: contained, Want: not + contained.Value, Got: strings.TrimSpace(text)})
			}
		}
		return wrong
	})
}

// sections returns the options of a unit by section. A single wanted value may be one of several.
func sections(text string) any {
	unit, err := systemd.Parse(text)
	if err != nil {
		return err
	}
	return golden.View(func(section string, want source.Node) any {
		if want.Absent() && !slices.Contains(unit.Sections(), section) {
			return nil
		}
		return golden.View(func(option string, want source.Node) any {
			values := unit.Values(section, option)
			if want.Kind == yaml.ScalarNode && !want.Absent() && slices.Contains(values, want.Value) {
				return golden.Plain(want)
			}
			return texts(want, values...)
		})
	})
}

// entries returns the entries of a flag: of a map their values, and of a list whether it has them.
func entries(kind string, values []string) golden.View {
	joined := strings.Join(values, ",")
	return func(key string, want source.Node) any {
		if kind == "listFlags" {
			return texts(want, strconv.FormatBool(commandline.ListValue(joined).Has(key)))
		}
		if entry, ok := commandline.MapValue(joined).Get(key); ok {
			return texts(want, entry)
		}
		return nil
	}
}

// below returns the members of a value that may be missing, such as labels.
func below(value any, path string) golden.View {
	members, _ := pathOf(path).In(value).(map[string]any)
	return func(key string, want source.Node) any {
		if text, ok := members[key].(string); ok {
			return texts(want, text)
		}
		return members[key]
	}
}

// texts returns the wanted value if its text equals got, regardless of its type in YAML. Otherwise it returns got.
func texts(want source.Node, got ...string) any {
	var wanted []string
	for _, text := range listOf(want) {
		wanted = append(wanted, text.Value)
	}
	switch {
	case slices.Equal(wanted, got):
		return golden.Plain(want)
	case len(got) == 1:
		return got[0]
	}
	all, _ := golden.Canonical(got) // texts
	return all
}
