// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// expectation holds the assertions about the objects of a selector.
type expectation struct {
	selector
	v1alpha1.TestExpectation
}

func (e *expectation) isDenied() bool { return e.Denied != nil || e.State == v1alpha1.TestDenied }

// selector selects objects: those of a target, of a kind and name, or all remaining ones.
type selector struct {
	at    source.Node
	title string
	// target is nil for objects without a target, and for the remaining ones.
	target     *target.Target
	kind, name string
	others     bool
	purposes   []string
}

// compileSelector compiles a target, Kind/name or others.
func compileSelector(at source.Node, path, title string, wanted []string, mayBeOthers bool) (selector, source.Findings) {
	s := selector{at: at, title: title, purposes: wanted}
	var findings source.Findings
	for _, purpose := range wanted {
		if !slices.Contains(mutation.KnownPurposes, purpose) {
			findings = append(findings, at.Finding(path+".purposes", "unknown purpose %q%s", purpose, source.Suggest(purpose, mutation.KnownPurposes)))
		}
	}
	if len(wanted) == 0 {
		s.purposes = []string{"reconcile"}
	}
	known := target.Names()
	if mayBeOthers {
		known = append(known, v1alpha1.TestOthers)
	}
	s.target, _ = target.Lookup(title)
	s.others = mayBeOthers && title == v1alpha1.TestOthers
	s.kind, s.name, _ = strings.Cut(title, "/")
	if s.target == nil && !s.others && (s.kind == "" || s.name == "") {
		findings = append(findings, at.Finding(path, "%q is neither a target nor kind and name, such as Deployment/acme%s", title, source.Suggest(title, known)))
	}
	return s, findings
}

// matches reports whether the selector selects an object by itself.
func (s *selector) matches(o *admittedObject) bool {
	if s.target == nil {
		return !s.others && strings.EqualFold(o.Kind, s.kind) && o.Name == s.name
	}
	return s.isOfTarget(o.Object, o.garden()) && (!s.target.Purposed || slices.Contains(s.purposes, o.purpose))
}

// isOfTarget reports whether an object of any purpose is one of the target; garden means that it is in the namespace of
// the virtual garden.
func (s *selector) isOfTarget(o manifest.Object, garden bool) bool {
	return s.target.Garden == garden && slices.ContainsFunc(s.target.Forms, func(f target.Form) bool { return f.Is(o.Group(), o.Kind, o.Name) })
}

// compiler checks one expectation.
type compiler struct {
	expectation

	// where is the path of the expectation in the table.
	where    string
	profile  profileText
	findings source.Findings
}

// compileExpectations compiles the expectations of a case in the order of the document.
func compileExpectations(c *v1alpha1.TestCase, written source.Node, where string, profile profileText) ([]expectation, source.Findings) {
	var (
		all      []expectation
		findings source.Findings
	)
	for _, f := range written.Fields() {
		title := f.Key.Value
		e := c.Expect[title]
		s, more := compileSelector(f.Key, where+"."+title, title, e.Purposes, true)
		if findings = append(findings, more...); len(more) > 0 {
			continue
		}
		c := &compiler{expectation: expectation{s, e}, where: where + "." + title, profile: profile}
		if c.Container == "" && c.target != nil {
			c.Container = c.target.Container
		}
		c.compile()
		findings = append(findings, c.findings...)
		all = append(all, c.expectation)
	}
	return all, findings
}

// compile checks all fields, and finds those that exclude each other.
func (c *compiler) compile() {
	var values int
	for _, f := range c.At.Fields() {
		kind, entries := f.Key.Value, f.Value.Fields()
		if kind == "denied" {
			continue
		}
		values += len(entries)
		if unfit := c.unfit(kind); unfit != "" && len(entries) > 0 && !c.others {
			c.refuse(f.Key, kind, "%s", unfit)
			continue
		}
		for _, entry := range entries {
			c.check(kind, kind+"."+entry.Key.Value, entry.Key, entry.Value)
		}
	}
	switch {
	case (c.isDenied() || c.State == v1alpha1.TestAbsent) && values > 0:
		c.refuse(c.At, "", "nothing more can be expected of an object that is denied or absent")
	case c.Denied != nil && c.State != "" && c.State != v1alpha1.TestDenied:
		c.refuse(c.At, "", "denied, and %s", c.State)
	case c.others && values > 0:
		c.refuse(c.At, "", "all other objects can expect only a state")
	}
}

// refuse adds a finding about a field of the expectation, or about all of it.
func (c *compiler) refuse(at source.Node, field, format string, arguments ...any) {
	if field != "" {
		field = "." + field
	}
	c.findings = append(c.findings, at.Finding(c.where+field, format, arguments...))
}

// has reports whether the objects are of a target with the parts.
func (c *compiler) has(parts target.Part) bool { return c.target != nil && c.target.Has(parts) }

// unfit returns the reason why the objects cannot have a field, or an empty string.
func (c *compiler) unfit(kind string) string {
	switch kind {
	case "featureGates", "flags", "mapFlags", "listFlags":
		switch {
		case kind == "featureGates" && c.has(target.KubeletConfiguration):
		case c.target != nil && !c.target.Has(target.CommandLine):
			return c.title + " has no command line"
		case c.Container == "":
			return "name the container in the field container"
		}
	case "configuration":
		if !c.has(target.KubeletConfiguration) {
			return c.title + " has no configuration of a kubelet; kubelet has"
		}
	case "units", "files":
		if !c.has(target.Units) {
			return c.title + " has no " + kind + "; kubelet and node have"
		}
	}
	return ""
}

// metadata are the paths of the fields with labels and annotations.
var metadata = map[string]string{
	"labels": "metadata.labels", "annotations": "metadata.annotations",
	"podLabels": "spec.template.metadata.labels", "podAnnotations": "spec.template.metadata.annotations",
}

// check checks the form of an entry of a field, and that a name exists that must be missing. To add a field: one in
// v1alpha1.TestExpected, and its value in subject.view.
func (c *compiler) check(kind, field string, key, node source.Node) {
	found, entries := len(c.findings), kind == "mapFlags" || kind == "listFlags"
	switch kind {
	case "fields", "configuration":
		c.parse(field, key, node)
	case "units", "files":
		c.checkItem(kind, field, key, node)
	}
	switch {
	case entries && node.Absent():
		c.refuse(node, field, "must be a mapping of its entries")
	case len(c.findings) == found && (entries || node.Absent()):
		c.checkName(kind, field, key)
	}
	if kind == "listFlags" && strings.HasSuffix(key.Value, "-admission-plugins") {
		for _, plugin := range node.Fields() {
			if _, former := kubeflags.FormerPlugin(plugin.Key.Value); !former {
				known := kubeflags.EverKnown("", func(_ string, m kubeflags.Minor) []string { return kubeflags.Plugins(m) })
				c.checkKnown(plugin.Key, field+"."+plugin.Key.Value, "kube-apiserver has no such admission plugin", known)
			}
		}
	}
}

// parse returns the path that a key is, or refuses it.
func (c *compiler) parse(field string, key, node source.Node) (fieldpath.Path, bool) {
	path, err := fieldpath.Parse(key.Value)
	if err != nil {
		c.refuse(node, field, "the path %s", err)
	}
	return path, err == nil
}

// checkItem checks what is expected of a unit or a file.
func (c *compiler) checkItem(list, field string, key, node source.Node) {
	if list == "files" && !path.IsAbs(key.Value) {
		c.refuse(key, field, "the path of a file is absolute (did you mean %q?)", "/"+key.Value)
		return
	}
	if list == "files" && node.Has("sections") {
		c.refuse(node, field, "sections are those of units")
	}
	for _, f := range node.Get("fields").Fields() {
		field := field + ".fields." + f.Key.Value
		if path, ok := c.parse(field, f.Key, f.Value); ok && f.Value.Absent() {
			c.checkField(f.Key, field, c.written(list, key.Value), path)
		}
	}
	for _, section := range node.Get("sections").Fields() {
		if section.Value.Absent() {
			c.checkOption(section.Key, source.Node{}, field+".sections.", c.written(list, key.Value))
		}
		for _, option := range section.Value.Fields() {
			if option.Value.Absent() {
				c.checkOption(section.Key, option.Key, field+".sections.", c.written(list, key.Value))
			}
		}
	}
}

// identifying are the fields that name units and files.
var identifying = map[string]string{"units": "name", "files": "path"}

// listOf returns the items of a list, another node itself, or nothing for null.
func listOf(node source.Node) []source.Node {
	switch {
	case node.Absent():
		return nil
	case node.Kind == yaml.SequenceNode:
		return node.Items()
	}
	return []source.Node{node}
}

// writtenByNobody is about a name that must be missing: it may be misspelled, and the expectation would always hold.
const writtenByNobody = "neither Gardener nor the profile writes "

// checkName refuses the unknown name of a missing value.
func (c *compiler) checkName(kind, field string, key source.Node) {
	if c.target == nil {
		return
	}
	name, component := key.Value, c.target.Component
	hasFlags := c.Container == c.target.Container && slices.Contains(kubeflags.Components(), component)
	switch kind {
	case "flags", "mapFlags", "listFlags":
		if _, former := kubeflags.Former(component, name); hasFlags && !former {
			c.checkKnown(key, field, component+" has no flag --"+name, kubeflags.EverKnown(component, kubeflags.Flags))
		}
	case "featureGates":
		if hasFlags {
			c.checkKnown(key, field, component+" has no feature gate "+name, kubeflags.EverKnown(component, kubeflags.Gates))
		}
	case "env":
		c.checkKnown(key, field, fmt.Sprintf("neither Gardener nor the profile sets an environment variable %q", name), c.names(kind))
	case "containers", "volumes", "units", "files":
		// A profile may compute names: only those that are certainly misspelt are refused.
		words := regexp.MustCompile(`[\w./-]+`).FindAllString(string(c.profile), -1)
		meant, ok := source.Nearest(name, append(c.names(kind), words...))
		if ok && meant != name && !c.profile.mentions("forEach") {
			c.refuse(key, field, writtenByNobody+"%q (did you mean %q?)", name, meant)
		}
	case "configuration":
		first, known := pathOf(name)[0].Key, kubeflags.EverKnown("", kubeflags.Fields)
		if !slices.Contains(known, first) {
			c.refuse(key, field, "the kubelet's configuration has no field %q%s", first, source.Suggest(first, known))
		}
	case "fields":
		c.checkField(key, field, c.samples(), pathOf(name))
	}
}

// itemNames are the paths of the names of items, and of objects.
var itemNames = map[string]string{
	"objects":    "metadata.name",
	"containers": "spec.template.spec.containers[0].name", "env": "spec.template.spec.containers[0].env[0].name",
	"volumes": "spec.template.spec.volumes[0].name", "units": "spec.units[0].name", "files": "spec.files[0].path",
}

// names returns the names of items, or of objects, that Gardener writes.
func (s *selector) names(kind string) []string {
	var known []string
	names, _, _ := reach(s.samples(), pathOf(itemNames[kind]))
	for _, one := range names {
		known = append(known, fmt.Sprint(one))
	}
	return known
}

// checkKnown refuses a key that is neither one of the known names nor in the profile.
func (c *compiler) checkKnown(key source.Node, field, message string, known []string) bool {
	ok := slices.Contains(known, key.Value) || c.profile.mentions(key.Value)
	if !ok {
		c.refuse(key, field, "%s%s", message, source.Suggest(key.Value, known))
	}
	return ok
}

// checkField refuses null for a field that is in no object and not written by the profile.
func (c *compiler) checkField(key source.Node, field string, objects []any, path fieldpath.Path) {
	_, rest, known := reach(objects, path)
	first := len(rest) == len(path)
	if len(objects) == 0 || len(rest) == 0 || !first && c.profile.mentions(path[len(path)-1].Key) {
		return
	}
	slices.Sort(known)
	hint := source.Suggest(rest[0].Key, slices.Compact(known))
	if first && pathOf("spec").With(rest[0].Key).In(objects[0]) != nil {
		hint = fmt.Sprintf(" (did you mean %q?)", "spec."+path.String())
	}
	c.refuse(key, field, writtenByNobody+"the field %s%s", path, hint)
}

// checkOption refuses a missing option if no unit of Gardener or the profile has the section or the option.
func (c *compiler) checkOption(section, option source.Node, field string, units []any) {
	sections, options := []string{"Unit", "Service", "Install"}, []string{}
	for _, unit := range units {
		content, _ := pathOf("content").In(unit).(string)
		if parsed, err := systemd.Parse(content); err == nil {
			for _, name := range parsed.Sections() {
				sections, options = append(sections, name), append(options, parsed.Options(name)...)
			}
		}
	}
	if c.checkKnown(section, field+section.Value, fmt.Sprintf(writtenByNobody+"a section %q", section.Value), sections) && option.Node != nil {
		c.checkKnown(option, field+section.Value+"."+option.Value, fmt.Sprintf(writtenByNobody+"an option %q", option.Value), options)
	}
}

// reach follows a path in values, through all items of their lists. The rest of the path is the part that no value has,
// and known are the names in its place.
func reach(values []any, path fieldpath.Path) (found []any, rest fieldpath.Path, known []string) {
	for i, step := range path {
		var below []any
		known = nil
		for _, value := range values {
			switch value := value.(type) {
			case map[string]any:
				known = slices.AppendSeq(known, maps.Keys(value))
				if member, ok := value[step.Key]; ok && step.By == "" {
					below = append(below, member)
				}
			case []any:
				if step.By != "" || step.Position {
					below = append(below, value...)
				}
			}
		}
		if len(below) == 0 {
			return nil, path[i:], known
		}
		values = below
	}
	return values, nil, nil
}

// samples returns the objects of the target or of the kind in the control planes that Gardener writes.
func (s *selector) samples() []any {
	var all []any
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			var decoded any
			o, err := manifest.New(raw, source.Position{})
			meant := s.target == nil && strings.EqualFold(o.Kind, s.kind) || s.target != nil && s.isOfTarget(o, plane.Garden)
			if err == nil && meant && json.Unmarshal(raw, &decoded) == nil {
				all = append(all, decoded)
			}
		}
	}
	return all
}

// written returns the units or files that Gardener writes with a name; all where none has it.
func (c *compiler) written(list, name string) []any {
	all, _, _ := reach(c.samples(), pathOf("spec."+list+"[0]"))
	is := func(item any) bool { return pathOf(identifying[list]).In(item) == name }
	if named := slices.DeleteFunc(slices.Clone(all), func(item any) bool { return !is(item) }); len(named) > 0 {
		return named
	}
	return all
}

// profileText is the text of the profiles under test.
type profileText string

// readProfiles reads the profiles under test. Unreadable ones are reported when they are loaded.
func readProfiles(paths []string) profileText {
	var text strings.Builder
	for _, path := range paths {
		if data, err := golden.Read(path); err == nil {
			text.Write(data)
		}
	}
	return profileText(text.String())
}

// mentions reports whether a name occurs in the profiles as a word.
func (p profileText) mentions(name string) bool {
	return regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`).MatchString(string(p))
}

func pathOf(text string) fieldpath.Path {
	path, _ := fieldpath.Parse(text) // all callers have valid paths
	return path
}
