// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// AboutFlag narrows the explanation to a flag: its lines before and after, and the rules that write it, or would. Dashes in front of
// the name are left out. The error says that neither the object nor a rule knows the flag.
func (o *Object) AboutFlag(name string) (*Object, error) {
	name = strings.TrimLeft(name, "-")
	name, _, _ = strings.Cut(name, "=")
	if name == "" {
		return nil, fmt.Errorf("the name of a flag is empty")
	}
	q := question{
		about: "--" + name,
		line:  func(l render.Line) bool { return hasFlag(l, name) },
		place: func(p operation.Place, flag string) bool { return flag == name || ofPlugins(p, name) },
	}
	narrowed := o.narrow(q)
	if narrowed.empty() {
		return nil, fmt.Errorf("%s has no flag --%s, and no rule writes one%s", o.Object, name, source.Suggest(name, o.flags()))
	}
	return narrowed, nil
}

// AboutField restricts the explanation to a field and the fields below it: a path as in graft diff, such as
// spec.replicas, or the name of a place that rules write, such as a field of the kubelet's configuration.
func (o *Object) AboutField(path string) (*Object, error) {
	path = strings.Trim(path, ".")
	if path == "" {
		return nil, fmt.Errorf("the path of a field is empty")
	}
	q := question{
		about: path,
		line:  func(l render.Line) bool { return inside(l.Path, path) },
		place: func(p operation.Place, _ string) bool {
			return p.Kind != operation.Flag && (inside(p.Name, path) || inside(path, p.Name))
		},
	}
	narrowed := o.narrow(q)
	if len(narrowed.Before)+len(narrowed.After) == 0 {
		narrowed.Before, narrowed.After = inTexts(o.before, path), inTexts(o.after, path)
	}
	if narrowed.empty() {
		var known []string
		for _, l := range append(slices.Clone(o.before), o.after...) {
			known = append(known, l.Path)
		}
		return nil, fmt.Errorf("%s has no field %s, and no rule writes one%s", o.Object, path, source.Suggest(path, known))
	}
	return narrowed, nil
}

// question is the subject of a restricted explanation: lines of the object, and places that rules write.
type question struct {
	about string
	line  func(render.Line) bool
	place func(p operation.Place, flag string) bool
}

// narrow keeps the parts that concern the question. It keeps skipped rules that would write the places.
func (o *Object) narrow(q question) *Object {
	narrowed := *o
	narrowed.About, narrowed.Rules = q.about, []Rule{}
	narrowed.Before, narrowed.After = q.lines(o.before), q.lines(o.after)
	for _, rule := range o.Rules {
		kept := rule
		kept.Steps = nil
		for _, step := range rule.Steps {
			if q.place(step.step.Place, step.step.Flag) || slices.ContainsFunc(step.Lines, func(e Edit) bool {
				return q.line(render.Line{Path: e.Path, Text: e.Text})
			}) {
				kept.Steps = append(kept.Steps, q.only(step))
			}
		}
		would := len(rule.Steps) == 0 && slices.ContainsFunc(rule.writes, func(w mutation.ExplainedWrite) bool { return q.place(w.Place, w.Flag) })
		if len(kept.Steps) > 0 || would {
			narrowed.Rules = append(narrowed.Rules, kept)
		}
	}
	return &narrowed
}

// only keeps the lines of a step that the question is about, unless it is about the place as a whole.
func (q question) only(step Step) Step {
	var lines []Edit
	for _, e := range step.Lines {
		if q.line(render.Line{Path: e.Path, Text: e.Text}) {
			lines = append(lines, e)
		}
	}
	if len(lines) > 0 {
		step.Lines = lines
	}
	return step
}

func (q question) lines(all []render.Line) []Line {
	var found []Line
	for _, l := range all {
		if q.line(l) {
			found = append(found, line(l))
		}
	}
	return found
}

func (o *Object) empty() bool { return len(o.Before)+len(o.After)+len(o.Rules) == 0 }

// hasFlag reports whether a line contains a flag: a command line has one flag per line, and a unit the lines of its
// ExecStart.
func hasFlag(l render.Line, name string) bool {
	if strings.HasSuffix(l.Path, "[--"+name+"]") || strings.HasSuffix(l.Path, "[-"+name+"]") {
		return true
	}
	if !strings.HasPrefix(l.Path, "spec.units[") {
		return false
	}
	for word := range strings.FieldsSeq(l.Text) {
		flag, _, _ := strings.Cut(word, "=")
		if flag == "--"+name || flag == "-"+name {
			return true
		}
	}
	return false
}

// ofPlugins reports whether a place is an entry of the lists of admission plugins.
func ofPlugins(p operation.Place, flag string) bool {
	name, ok := operation.OfFlag(flag)
	return ok && name == "admissionPlugins" && p.Kind == operation.AdmissionPlugin
}

// inside reports whether a path equals or extends another one.
func inside(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// flags returns the names of all flags in the object and in writes of rules.
func (o *Object) flags() []string {
	var names []string
	for _, l := range append(slices.Clone(o.before), o.after...) {
		if i := strings.LastIndex(l.Path, "[--"); i >= 0 {
			names = append(names, strings.TrimSuffix(l.Path[i+3:], "]"))
		}
	}
	for _, rule := range o.Rules {
		for _, w := range rule.writes {
			if w.Flag != "" {
				names = append(names, w.Flag)
			}
		}
	}
	return names
}
