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
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// assertion is one thing that is expected of an object.
type assertion struct {
	at source.Node
	// field is the field of the expectation, such as flags.cloud-provider.
	field string
	// about is the name of the value in the places of rules.
	about string
	// near lists texts that identify the line of the value in the object, to find the rule that wrote it.
	near []string
	// look compares the actual with the expected value.
	look func(o *subject) ([]golden.Mismatch, error)
}

// compiler collects the assertions of an expectation.
type compiler struct {
	selector

	at source.Node
	// path is the path of the expectation. container is the container with the flags and variables.
	path, container string
	profile         profileText
	asserts         []assertion
	findings        source.Findings
}

// refuse adds a finding about a field of the expectation, or about all of it.
func (c *compiler) refuse(at source.Node, field, format string, arguments ...any) {
	if field != "" {
		field = "." + field
	}
	c.findings = append(c.findings, at.Finding(c.path+field, format, arguments...))
}

// refuseNull refuses an expectation of null for a name that does not exist, which would always hold: at the key under
// which it is written, unless the message is empty.
func (c *compiler) refuseNull(node source.Node, field, name, message string) {
	if message == "" {
		return
	}
	if key := c.at.Naming(node, name); key.Node != nil {
		node = key
	}
	c.refuse(node, field, "%s", message)
}

// check compiles all fields of an expectation. To add one: a field in v1alpha1.TestExpected, and a line here.
func (c *compiler) check(e *v1alpha1.TestExpected) {
	for _, f := range []struct {
		name   string
		values map[string]source.Node
		// compile adds the assertion about a value, or a finding.
		compile func(field, name string, node source.Node)
		// unfit returns the reason why the objects cannot have the field. It is optional.
		unfit func() string
		// unknown returns an error message for a name that does not exist. It is optional.
		unknown func(name string) string
	}{
		{"flags", e.Flags, c.flag, c.noCommandLine, c.unknownFlag},
		{"mapFlags", e.MapFlags, c.entries(mapEntry), c.noCommandLine, nil},
		{"listFlags", e.ListFlags, c.entries(listItem), c.noCommandLine, nil},
		{"featureGates", e.FeatureGates, c.gate, c.noGates, c.unknownGate},
		{"env", e.Env, c.variable, nil, c.unknownVariable},
		{"labels", e.Labels, c.textBelow("metadata.labels"), nil, nil},
		{"annotations", e.Annotations, c.textBelow("metadata.annotations"), nil, nil},
		{"podLabels", e.PodLabels, c.textBelow("spec.template.metadata.labels"), nil, nil},
		{"podAnnotations", e.PodAnnotations, c.textBelow("spec.template.metadata.annotations"), nil, nil},
		{"containers", e.Containers, c.itemOf("containers", "initContainers"), nil, nil},
		{"volumes", e.Volumes, c.itemOf("volumes"), nil, nil},
		{"fields", e.Fields, c.byPath, nil, c.unknownField},
		{"configuration", e.Configuration, c.configuration, nil, c.unknownConfiguration},
	} {
		for i, name := range slices.Sorted(maps.Keys(f.values)) {
			node, field, known := f.values[name], f.name+"."+name, len(c.findings)
			if i == 0 && f.unfit != nil && f.unfit() != "" {
				c.refuse(node, f.name, "%s", f.unfit())
				break
			}
			f.compile(field, name, node)
			if node.Absent() && f.unknown != nil && c.target != nil && len(c.findings) == known {
				c.refuseNull(node, field, name, f.unknown(name))
			}
		}
	}
	c.texts("units", "name", e.Units)
	c.texts("files", "path", e.Files)
}

// has reports whether the objects are of a target with the parts.
func (c *compiler) has(parts target.Part) bool { return c.target != nil && c.target.Has(parts) }

func (c *compiler) noCommandLine() string {
	switch {
	case c.target != nil && !c.target.Has(target.CommandLine):
		return c.title + " has no command line"
	case c.container == "":
		return "name the container in the field container"
	}
	return ""
}

func (c *compiler) noGates() string {
	if c.has(target.KubeletConfiguration) {
		return ""
	}
	return c.noCommandLine()
}

// finder finds a value in an object, or nil.
type finder func(o *subject) (any, error)

// at finds the value at the first of the paths that the object has.
func at(paths ...fieldpath.Path) finder {
	return func(o *subject) (any, error) {
		for _, path := range paths {
			if value := golden.Follow(o.decoded, path); value != nil {
				return value, nil
			}
		}
		return nil, nil
	}
}

// configured finds the value at a path of the kubelet's configuration.
func configured(path fieldpath.Path) finder {
	return func(o *subject) (any, error) {
		file, err := o.KubeletConfiguration()
		if err != nil {
			return nil, err
		}
		whole, _ := file.Get()
		decoded, err := golden.Canonical(whole)
		return golden.Follow(decoded, path), err
	}
}

// expect adds an assertion about the value that is found.
func (c *compiler) expect(at source.Node, field, about string, near []string, want any, find finder) {
	c.asserts = append(c.asserts, assertion{at, field, about, near, func(o *subject) ([]golden.Mismatch, error) {
		got, err := find(o)
		if err != nil {
			return nil, err
		}
		return golden.Differences("", want, got), nil
	}})
}

// text returns an expected text, or nil for null.
func (c *compiler) text(field string, node source.Node, null string) (want any, ok bool) {
	switch {
	case node.Absent():
		return nil, true
	case node.Kind == yaml.ScalarNode:
		return node.Value, true
	}
	c.refuse(node, field, "must be text, or null for %s", null)
	return nil, false
}

// parse returns the path that names a value.
func (c *compiler) parse(field, text string, node source.Node) (fieldpath.Path, bool) {
	path, err := fieldpath.Parse(text)
	if err != nil {
		c.refuse(node, field, "the path %s", err)
	}
	return path, err == nil
}

// textBelow compiles texts by their keys, such as labels.
func (c *compiler) textBelow(path string) func(field, name string, node source.Node) {
	return func(field, name string, node source.Node) {
		if want, ok := c.text(field, node, "a missing value"); ok {
			c.expect(node, field, name, []string{name}, want, at(pathOf(path).With(name)))
		}
	}
}

// itemOf compiles items of lists of the pod template by name.
func (c *compiler) itemOf(lists ...string) func(field, name string, node source.Node) {
	return func(field, name string, node source.Node) {
		var paths []fieldpath.Path
		for _, list := range lists {
			paths = append(paths, append(pathOf("spec.template.spec."+list), fieldpath.Step{By: "name", Key: name}))
		}
		near := []string{lists[0][1:], name} // initContainers and containers end alike
		c.expect(node, field, name, near, golden.Plain(node), at(paths...))
	}
}

// byPath compiles any field by its path.
func (c *compiler) byPath(field, text string, node source.Node) {
	if path, ok := c.parse(field, text, node); ok {
		last := path[len(path)-1].Key
		c.expect(node, field, last, []string{last}, golden.Plain(node), at(path))
	}
}

// configuration compiles a field of the kubelet's configuration.
func (c *compiler) configuration(field, text string, node source.Node) {
	if !c.has(target.KubeletConfiguration) {
		c.refuse(node, field, "%s has no configuration of a kubelet; kubelet has", c.title)
	} else if path, ok := c.parse(field, text, node); ok {
		c.expect(node, field, path[0].Key, []string{path[len(path)-1].Key}, golden.Plain(node), configured(path))
	}
}

// gate compiles a feature gate of the flag or of the kubelet's configuration.
func (c *compiler) gate(field, name string, node source.Node) {
	if c.has(target.KubeletConfiguration) {
		c.expect(node, field, name, []string{name}, golden.Plain(node), configured(fieldpath.Path{{Key: "featureGates"}, {Key: name}}))
		return
	}
	c.entry(field, "feature-gates", name, node, mapEntry)
}

// variable compiles an environment variable: its value, or its fields.
func (c *compiler) variable(field, name string, node source.Node) {
	want := golden.Plain(node)
	if _, isMapping := want.(map[string]any); !isMapping && want != nil {
		want = map[string]any{"value": node.Value}
	}
	c.expect(node, field, name, []string{"[" + c.container + "]", name}, want, func(o *subject) (any, error) {
		container, err := o.Container(c.container)
		if err != nil {
			return nil, err
		}
		return golden.Follow(decode(container), fieldpath.Path{{Key: "env"}, {By: "name", Key: name}}), nil
	})
}

// flag compiles the whole value of a flag.
func (c *compiler) flag(field, name string, node source.Node) {
	want, ok := flagValues(node)
	if !ok {
		c.refuse(node, field, "must be text, a list of texts for a flag that is repeated, or null for a missing flag")
		return
	}
	c.asserts = append(c.asserts, assertion{node, field, name, c.nearFlag(name), func(o *subject) ([]golden.Mismatch, error) {
		line, err := o.CommandLine(c.container)
		if err != nil {
			return nil, err
		}
		got := line.Values(name)
		if slices.Equal(want, got) {
			return nil, nil
		}
		return []golden.Mismatch{{Want: flagText(want), Got: flagText(got)}}, nil
	}})
}

// nearFlag returns texts in the lines of a flag.
func (c *compiler) nearFlag(flag string) []string {
	if c.target != nil && c.target.Purposed {
		return []string{"--" + flag}
	}
	return []string{"[" + c.container + "]", "--" + flag}
}

// flagValues returns the expected values of a flag; none for null.
func flagValues(node source.Node) (values []string, ok bool) {
	switch {
	case node.Absent():
		return nil, true
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}, true
	}
	for _, item := range node.Items() {
		if item.Kind != yaml.ScalarNode {
			return nil, false
		}
		values = append(values, item.Value)
	}
	return values, len(values) > 0
}

func flagText(values []string) string {
	switch {
	case len(values) == 0:
		return golden.Absent
	case len(values) == 1 && values[0] == "":
		return "without a value"
	}
	return strings.Join(values, "\n")
}

// mapEntry returns an entry of a flag such as --runtime-config, or nil.
func mapEntry(values, key string) any {
	if entry, ok := commandline.MapValue(values).Get(key); ok {
		return entry
	}
	return nil
}

// listItem returns whether a flag such as --enable-admission-plugins has an item: true or false.
func listItem(values, item string) any {
	return strconv.FormatBool(commandline.ListValue(values).Has(item))
}

// entries compiles the expected entries of a flag.
func (c *compiler) entries(entry func(values, key string) any) func(field, flag string, node source.Node) {
	return func(field, flag string, node source.Node) {
		if node.Absent() || node.Kind != yaml.MappingNode {
			c.refuse(node, field, "must be a mapping of its entries")
			return
		}
		for _, f := range node.Fields() {
			c.entry(field+"."+f.Key.Value, flag, f.Key.Value, f.Value, entry)
		}
		if len(node.Fields()) > 0 && c.target != nil {
			c.refuseNull(node, field, flag, c.unknownFlag(flag))
		}
	}
}

func (c *compiler) entry(field, flag, key string, node source.Node, entry func(values, key string) any) {
	want, ok := c.text(field, node, "a missing entry")
	if !ok {
		return
	}
	c.expect(node, field, key, c.nearFlag(flag), want, func(o *subject) (any, error) {
		line, err := o.CommandLine(c.container)
		if err != nil {
			return nil, err
		}
		return entry(strings.Join(line.Values(flag), ","), key), nil
	})
}

// texts compiles the expected units or files of a node, which their key names.
func (c *compiler) texts(list, key string, wanted map[string]v1alpha1.TestText) {
	for name, want := range wanted {
		field := list + "." + name
		switch {
		case !c.has(target.Units):
			c.refuse(want.At, field, "%s has no %s; kubelet and node have", c.title, list)
		case list == "files" && !path.IsAbs(name):
			c.refuseNull(want.At, field, name, fmt.Sprintf("the path of a file is absolute (did you mean %q?)", "/"+name))
		case list == "files" && want.Sections != nil:
			c.refuse(want.At, field, "sections are those of units")
		default:
			c.item(field, name, append(pathOf("spec."+list), fieldpath.Step{By: key, Key: name}), want)
		}
	}
}

// item adds the assertions about the unit or file with a name, which is at a path of the object.
func (c *compiler) item(field, name string, in fieldpath.Path, want v1alpha1.TestText) {
	c.asserts = append(c.asserts, assertion{want.At, field, name, []string{name}, func(o *subject) ([]golden.Mismatch, error) {
		item := golden.Follow(o.decoded, in)
		switch {
		case want.At.Absent():
			return golden.Differences("", nil, item), nil
		case item == nil:
			return []golden.Mismatch{{Want: "(present)", Got: golden.Absent}}, nil
		}
		_, err := o.text(name, item)
		return nil, err
	}})
	// add adds an assertion about an existing item and its text. The word is in the lines that it is about; all lines of
	// the item have the empty one.
	add := func(at source.Node, below, word string, look func(item any, text string) []golden.Mismatch) {
		c.asserts = append(c.asserts, assertion{at, field + "." + below, name, []string{name, word}, func(o *subject) ([]golden.Mismatch, error) {
			item := golden.Follow(o.decoded, in)
			if item == nil {
				return nil, nil
			}
			text, err := o.text(name, item)
			if err != nil {
				return nil, err
			}
			return look(item, text), nil
		}})
	}
	for _, part := range want.Contains {
		add(part.At, "contains", "", func(_ any, text string) []golden.Mismatch { return containing(part.Value, text, true) })
	}
	for _, part := range want.Lacks {
		add(part.At, "lacks", "", func(_ any, text string) []golden.Mismatch { return containing(part.Value, text, false) })
	}
	if want.Content.At.Node != nil {
		add(want.Content.At, "content", "", func(_ any, text string) []golden.Mismatch {
			return golden.Differences("", want.Content.Value, text)
		})
	}
	for text, node := range want.Fields {
		below := "fields." + text
		if path, ok := c.parse(field+"."+below, text, node); ok {
			add(node, below, path[len(path)-1].Key, func(item any, _ string) []golden.Mismatch {
				return golden.Differences("", golden.Plain(node), golden.Follow(item, path))
			})
			if node.Absent() {
				c.refuseNull(node, field+"."+below, text, c.noField(c.written(in), path))
			}
		}
	}
	for section, options := range want.Sections {
		for option, node := range options {
			add(node, "sections."+section+"."+option, option, func(_ any, text string) []golden.Mismatch {
				return optionDifferences(section, option, golden.Plain(node), text)
			})
			if node.Absent() {
				c.unknownOption(node, field+".sections.", section, option, c.written(in))
			}
		}
	}
}

// containing compares whether a text contains a part.
func containing(part, text string, want bool) []golden.Mismatch {
	switch {
	case strings.Contains(text, part) == want:
		return nil
	case !want:
		part = "no " + part
	}
	return []golden.Mismatch{{Want: part, Got: text}}
}

// optionDifferences compares an option of a unit: a list is all of its values, anything else is one of them, and null
// none.
func optionDifferences(section, option string, want any, text string) []golden.Mismatch {
	unit, err := systemd.Parse(text)
	if err != nil {
		return []golden.Mismatch{{Want: golden.Shown(want), Got: err.Error()}}
	}
	values := unit.Values(section, option)
	if want != nil && slices.Contains(values, fmt.Sprint(want)) {
		return nil
	}
	var got any
	switch _, isList := want.([]any); {
	case len(values) == 1 && !isList:
		got = values[0]
	case len(values) > 0:
		got, _ = golden.Canonical(values) // texts
	}
	return golden.Differences("", want, got)
}

// missing returns a message that a name does not exist, with a suggestion, unless it is known or in the profile.
func (c *compiler) missing(name string, known []string, format string, arguments ...any) string {
	if slices.Contains(known, name) || c.profile.mentions(name) {
		return ""
	}
	return fmt.Sprintf(format, arguments...) + source.Suggest(name, known)
}

// hasKnownFlags reports whether the flags and gates of the container are known.
func (c *compiler) hasKnownFlags() bool {
	return c.container == c.target.Container && slices.Contains(kubeflags.Components(), c.target.Component)
}

// unknownFlag returns a message about a flag that no version of the component has and the profile does not set.
func (c *compiler) unknownFlag(name string) string {
	component := c.target.Component
	_, known := kubeflags.Flag(component, name)
	_, former := kubeflags.Former(component, name)
	if known || former || !c.hasKnownFlags() {
		return ""
	}
	return c.missing(name, ofVersions(component, kubeflags.Flags), "%s has no flag --%s", component, name)
}

func (c *compiler) unknownGate(name string) string {
	if !c.hasKnownFlags() {
		return ""
	}
	component := c.target.Component
	return c.missing(name, ofVersions(component, kubeflags.Gates), "%s has no feature gate %s", component, name)
}

// ofVersions returns the names that any version of Kubernetes has.
func ofVersions(of string, names func(string, kubeflags.Minor) []string) []string {
	var all []string
	for _, version := range kubeflags.Versions() {
		all = append(all, names(of, version)...)
	}
	return all
}

func (c *compiler) unknownVariable(name string) string {
	var known []string
	all, _, _ := reach(c.objects(), pathOf("spec.template.spec.containers[0].env[0].name"))
	for _, one := range all {
		text, _ := one.(string)
		known = append(known, text)
	}
	return c.missing(name, known, "neither Gardener nor the profile sets an environment variable %q", name)
}

func (c *compiler) unknownConfiguration(name string) string {
	field, _, _ := strings.Cut(name, ".")
	known := ofVersions("", kubeflags.Fields)
	if slices.Contains(known, field) {
		return ""
	}
	return fmt.Sprintf("the kubelet's configuration has no field %q%s", field, source.Suggest(field, known))
}

func (c *compiler) unknownField(name string) string { return c.noField(c.objects(), pathOf(name)) }

// noField returns a message if none of the objects has the field and the profile does not write it.
func (c *compiler) noField(objects []any, path fieldpath.Path) string {
	_, rest, known := reach(objects, path)
	first := len(rest) == len(path)
	if len(objects) == 0 || len(rest) == 0 || !first && c.profile.mentions(path[len(path)-1].Key) {
		return ""
	}
	slices.Sort(known)
	hint := source.Suggest(rest[0].Key, slices.Compact(known))
	if first && golden.Follow(objects[0], pathOf("spec").With(rest[0].Key)) != nil {
		hint = fmt.Sprintf(" (did you mean %q?)", "spec."+path.String())
	}
	return fmt.Sprintf("neither Gardener nor the profile writes the field %s%s", path, hint)
}

// unknownOption refuses a section or an option that no unit of Gardener or the profile has.
func (c *compiler) unknownOption(node source.Node, field, section, option string, units []any) {
	sections, options := []string{"Unit", "Service", "Install"}, []string{}
	for _, item := range units {
		content, _ := golden.Follow(item, pathOf("content")).(string)
		unit, err := systemd.Parse(content)
		if err != nil {
			continue
		}
		for _, name := range unit.Sections() {
			sections, options = append(sections, name), append(options, unit.Options(name)...)
		}
	}
	const message = "neither Gardener nor the profile writes %s %q"
	if unknown := c.missing(section, sections, message, "a section", section); unknown != "" {
		c.refuseNull(node, field+section, section, unknown)
		return
	}
	c.refuseNull(node, field+section+"."+option, option, c.missing(option, options, message, "an option", option))
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

// objects returns the objects of the target in the control planes that Gardener writes.
func (c *compiler) objects() []any {
	var all []any
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			var decoded any
			o, err := manifest.New(raw, source.Position{})
			if err == nil && c.isOfTarget(o, plane.Garden) && json.Unmarshal(raw, &decoded) == nil {
				all = append(all, decoded)
			}
		}
	}
	return all
}

// written returns the units or files that Gardener writes with the name in a path; all where none has it.
func (c *compiler) written(in fieldpath.Path) []any {
	var named []any
	objects := c.objects()
	for _, object := range objects {
		if item := golden.Follow(object, in); item != nil {
			named = append(named, item)
		}
	}
	if len(named) > 0 {
		return named
	}
	all, _, _ := reach(objects, in)
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
