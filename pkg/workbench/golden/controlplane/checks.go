// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/commandline"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

// compiler collects the assertions of an expectation.
type compiler struct {
	selector

	at source.Node
	// path is the path of the expectation. container is the container with the flags and variables.
	path, container string
	expected        v1alpha1.TestExpected
	profile         profileText
	asserts         []assertion
	findings        source.Findings
}

func (c *compiler) add(a assertion) { c.asserts = append(c.asserts, a) }

// refuse adds a finding about a field of the expectation, or about all of it.
func (c *compiler) refuse(at source.Node, field, format string, arguments ...any) {
	if field != "" {
		field = "." + field
	}
	c.findings = append(c.findings, at.Finding(c.path+field, format, arguments...))
}

// values are expected values by name.
type values = map[string]source.Node

// check compiles the values of one field of an expectation.
type check struct {
	field  string
	values func(e *v1alpha1.TestExpected) values
	// compile adds the assertion about a value, or a finding.
	compile func(c *compiler, field, name string, node source.Node)
	// unfit adds a finding if the objects cannot have the field. It is optional.
	unfit func(c *compiler, field, name string, node source.Node) bool
	// unknown returns an error message for a name that does not exist. It is optional.
	unknown func(c *compiler, name string) string
}

// checks are the fields with values by name. To add one: a field in v1alpha1.TestExpected, and a line here.
var checks = []check{
	{"flags", func(e *v1alpha1.TestExpected) values { return e.Flags }, (*compiler).flag, (*compiler).noCommandLine, (*compiler).unknownFlag},
	{"mapFlags", func(e *v1alpha1.TestExpected) values { return e.MapFlags }, entries(mapEntry), (*compiler).noCommandLine, nil},
	{"listFlags", func(e *v1alpha1.TestExpected) values { return e.ListFlags }, entries(listItem), (*compiler).noCommandLine, nil},
	{"featureGates", func(e *v1alpha1.TestExpected) values { return e.FeatureGates }, (*compiler).gate, (*compiler).noGates, (*compiler).unknownGate},
	{"env", func(e *v1alpha1.TestExpected) values { return e.Env }, (*compiler).variable, nil, (*compiler).unknownVariable},
	{"labels", func(e *v1alpha1.TestExpected) values { return e.Labels }, textBelow("metadata.labels"), nil, nil},
	{"annotations", func(e *v1alpha1.TestExpected) values { return e.Annotations }, textBelow("metadata.annotations"), nil, nil},
	{"podLabels", func(e *v1alpha1.TestExpected) values { return e.PodLabels }, textBelow("spec.template.metadata.labels"), nil, nil},
	{"podAnnotations", func(e *v1alpha1.TestExpected) values { return e.PodAnnotations }, textBelow("spec.template.metadata.annotations"), nil, nil},
	{"containers", func(e *v1alpha1.TestExpected) values { return e.Containers }, itemOf("containers", "initContainers"), nil, nil},
	{"volumes", func(e *v1alpha1.TestExpected) values { return e.Volumes }, itemOf("volumes"), nil, nil},
	{"fields", func(e *v1alpha1.TestExpected) values { return e.Fields }, (*compiler).byPath, nil, (*compiler).unknownField},
	{
		"configuration", func(e *v1alpha1.TestExpected) values { return e.Configuration }, (*compiler).configuration,
		(*compiler).noConfiguration, (*compiler).unknownConfiguration,
	},
}

// check compiles all fields of the expectation.
func (c *compiler) check() {
	for _, one := range checks {
		values := one.values(&c.expected)
		for i, name := range sortedKeys(values) {
			node, field, known := values[name], one.field+"."+name, len(c.findings)
			if i == 0 && one.unfit != nil && one.unfit(c, one.field, name, node) {
				break
			}
			one.compile(c, field, name, node)
			if node.Absent() && one.unknown != nil && len(c.findings) == known {
				c.refuseUnknown(node, field, name, one.unknown)
			}
		}
	}
	c.texts("units", "name", c.expected.Units)
	c.texts("files", "path", c.expected.Files)
}

// has reports whether the objects are of a target with the parts.
func (c *compiler) has(parts target.Part) bool { return c.target != nil && c.target.Has(parts) }

func (c *compiler) noCommandLine(field, _ string, some source.Node) bool {
	switch {
	case c.target != nil && !c.target.Has(target.CommandLine):
		c.refuse(some, field, "%s has no command line", c.title)
	case c.container == "":
		c.refuse(some, field, "name the container in the field container")
	default:
		return false
	}
	return true
}

func (c *compiler) noGates(field, name string, some source.Node) bool {
	return !c.has(target.KubeletConfiguration) && c.noCommandLine(field, name, some)
}

func (c *compiler) noConfiguration(field, name string, some source.Node) bool {
	if c.has(target.KubeletConfiguration) {
		return false
	}
	c.refuse(some, field+"."+name, "%s has no configuration of a kubelet; kubelet has", c.title)
	return true
}

// finder finds a value in an object.
type finder func(o *subject) (value any, there bool, err error)

// lookAt compares with a value that is found in the object.
func lookAt(want any, find finder) func(o *subject) ([]comparison.Mismatch, error) {
	return func(o *subject) ([]comparison.Mismatch, error) {
		got, there, err := find(o)
		if err != nil {
			return nil, err
		}
		return comparison.Differences("", want, got, there), nil
	}
}

// at finds the value at the first of the paths that the object has.
func at(paths ...fieldpath.Path) finder {
	return func(o *subject) (any, bool, error) {
		for _, path := range paths {
			if value, there := comparison.Follow(o.value(), path); there {
				return value, true, nil
			}
		}
		return nil, false, nil
	}
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
func textBelow(path string) func(c *compiler, field, name string, node source.Node) {
	return func(c *compiler, field, name string, node source.Node) {
		if want, ok := c.text(field, node, "a missing value"); ok {
			c.add(assertion{at: node, field: field, about: name, near: []string{name}, look: lookAt(want, at(pathOf(path).With(name)))})
		}
	}
}

// itemOf compiles items of lists of the pod template by name.
func itemOf(lists ...string) func(c *compiler, field, name string, node source.Node) {
	return func(c *compiler, field, name string, node source.Node) {
		var paths []fieldpath.Path
		for _, list := range lists {
			paths = append(paths, append(pathOf("spec.template.spec."+list), fieldpath.Step{By: "name", Key: name}))
		}
		near := []string{lists[0][1:], name} // initContainers and containers end alike
		c.add(assertion{at: node, field: field, about: name, near: near, look: lookAt(comparison.Plain(node), at(paths...))})
	}
}

// byPath compiles any field by its path.
func (c *compiler) byPath(field, text string, node source.Node) {
	if path, ok := c.parse(field, text, node); ok {
		c.value(field, path[len(path)-1].Key, path, node, at(path))
	}
}

// configuration compiles a field of the kubelet's configuration.
func (c *compiler) configuration(field, text string, node source.Node) {
	if path, ok := c.parse(field, text, node); ok {
		c.value(field, path[0].Key, path, node, configured(path))
	}
}

// value adds an assertion about a value at a path, and about says which rules could write it.
func (c *compiler) value(field, about string, path fieldpath.Path, node source.Node, find finder) {
	near := []string{path[len(path)-1].Key}
	c.add(assertion{at: node, field: field, about: about, near: near, look: lookAt(comparison.Plain(node), find)})
}

// configured finds the value at a path of the kubelet's configuration.
func configured(path fieldpath.Path) finder {
	return func(o *subject) (any, bool, error) {
		whole, err := o.kubeletConfiguration()
		value, there := comparison.Follow(whole, path)
		return value, there, err
	}
}

// gate compiles a feature gate of the flag or of the kubelet's configuration.
func (c *compiler) gate(field, name string, node source.Node) {
	if c.has(target.KubeletConfiguration) {
		path := fieldpath.Path{{Key: "featureGates"}, {Key: name}}
		c.value(field, name, path, node, configured(path))
		return
	}
	c.entry(field, "feature-gates", name, node, mapEntry)
}

// variable compiles an environment variable: its value, or its fields.
func (c *compiler) variable(field, name string, node source.Node) {
	want := comparison.Plain(node)
	if _, isMapping := want.(map[string]any); !isMapping && want != nil {
		want = map[string]any{"value": node.Value}
	}
	path := fieldpath.Path{{Key: "env"}, {By: "name", Key: name}}
	near := []string{"[" + c.container + "]", name}
	c.add(assertion{at: node, field: field, about: name, near: near, look: lookAt(want, func(o *subject) (any, bool, error) {
		container, err := o.Container(c.container)
		if err != nil {
			return nil, false, err
		}
		value, there := comparison.Follow(decode(container), path)
		return value, there, nil
	})})
}

// flag compiles the whole value of a flag.
func (c *compiler) flag(field, name string, node source.Node) {
	want, ok := c.flagValues(field, node)
	if !ok {
		return
	}
	c.add(assertion{at: node, field: field, about: name, near: c.nearFlag(name), look: func(o *subject) ([]comparison.Mismatch, error) {
		line, err := o.CommandLine(c.container)
		if err != nil {
			return nil, err
		}
		got := line.Values(name)
		if slices.Equal(want, got) {
			return nil, nil
		}
		return []comparison.Mismatch{{Want: flagText(want), Got: flagText(got)}}, nil
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
func (c *compiler) flagValues(field string, node source.Node) ([]string, bool) {
	switch {
	case node.Absent():
		return nil, true
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}, true
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0:
		var values []string
		for _, item := range node.Items() {
			if item.Kind != yaml.ScalarNode {
				break
			}
			values = append(values, item.Value)
		}
		if len(values) == len(node.Content) {
			return values, true
		}
	}
	c.refuse(node, field, "must be text, a list of texts for a flag that is repeated, or null for a missing flag")
	return nil, false
}

func flagText(values []string) string {
	switch {
	case len(values) == 0:
		return comparison.Absent
	case len(values) == 1 && values[0] == "":
		return "without a value"
	}
	return strings.Join(values, "\n")
}

// mapEntry returns an entry of a flag such as --runtime-config.
func mapEntry(values []string, key string) (string, bool) {
	return commandline.MapValue(strings.Join(values, ",")).Get(key)
}

// listItem returns whether a flag such as --enable-admission-plugins has an item: true or false.
func listItem(values []string, item string) (string, bool) {
	return strconv.FormatBool(commandline.ListValue(strings.Join(values, ",")).Has(item)), true
}

// entries compiles the expected entries of a flag.
func entries(entry func(values []string, key string) (string, bool)) func(c *compiler, field, flag string, node source.Node) {
	return func(c *compiler, field, flag string, node source.Node) {
		if node.Absent() || node.Kind != yaml.MappingNode {
			c.refuse(node, field, "must be a mapping of its entries")
			return
		}
		for _, f := range node.Fields() {
			c.entry(field+"."+f.Key.Value, flag, f.Key.Value, f.Value, entry)
		}
		if len(node.Fields()) > 0 {
			c.refuseUnknown(node, field, flag, (*compiler).unknownFlag)
		}
	}
}

func (c *compiler) entry(field, flag, key string, node source.Node, entry func(values []string, key string) (string, bool)) {
	want, ok := c.text(field, node, "a missing entry")
	if !ok {
		return
	}
	c.add(assertion{at: node, field: field, about: key, near: c.nearFlag(flag), look: lookAt(want, func(o *subject) (any, bool, error) {
		line, err := o.CommandLine(c.container)
		if err != nil {
			return nil, false, err
		}
		got, there := entry(line.Values(flag), key)
		return got, there, nil
	})})
}

// texts compiles the expected units or files of a node, which their key names.
func (c *compiler) texts(list, key string, wanted map[string]v1alpha1.TestText) {
	for name, want := range wanted {
		t := text{compiler: c, at: want.At, field: list + "." + name, name: name, list: list}
		t.in = append(pathOf("spec."+list), fieldpath.Step{By: key, Key: name})
		switch {
		case !c.has(target.Units):
			c.refuse(t.at, t.field, "%s has no %s; kubelet and node have", c.title, list)
		case list == "files" && !path.IsAbs(name):
			c.refuseNull(t.at, t.field, name, fmt.Sprintf("the path of a file is absolute (did you mean %q?)", "/"+name))
		default:
			t.exists()
			t.content(want)
			t.values(want)
		}
	}
}

// text makes the assertions about a unit or a file.
type text struct {
	*compiler

	at                source.Node
	field, name, list string
	in                fieldpath.Path
}

// add adds an assertion about the item and its text. The word is in the lines that it is about; an empty one selects
// all lines of the item. The item is nil only for an assertion about the item itself.
func (t text) add(at source.Node, below, word string, look func(item any, content string) []comparison.Mismatch) {
	near := slices.DeleteFunc([]string{t.name, word}, func(text string) bool { return text == "" })
	t.compiler.add(assertion{at: at, field: t.field + below, about: t.name, near: near, look: func(o *subject) ([]comparison.Mismatch, error) {
		item, there := comparison.Follow(o.value(), t.in)
		if !there && below != "" {
			return nil, nil
		}
		content, err := t.read(o)
		if err != nil {
			return nil, err
		}
		return look(item, content), nil
	}})
}

// exists adds the assertion that the item exists, or for null that it is absent.
func (t text) exists() {
	t.add(t.at, "", "", func(item any, _ string) []comparison.Mismatch {
		switch {
		case t.at.Absent():
			return comparison.Differences("", nil, item, item != nil)
		case item == nil:
			return []comparison.Mismatch{{Want: "(present)", Got: comparison.Absent}}
		}
		return nil
	})
}

// read returns the text of the unit, or the inline content of the file.
func (t text) read(o *subject) (string, error) {
	if t.list == "units" {
		content, _ := comparison.Follow(o.value(), t.in.With("content"))
		written, _ := content.(string)
		return written, nil
	}
	if o.File(t.name).Find("content", "inline") == nil {
		return "", nil
	}
	content, err := o.Content(t.name)
	if err != nil {
		return "", err
	}
	return string(content.Text()), nil
}

// content compares the text as a whole, and its parts.
func (t text) content(want v1alpha1.TestText) {
	for _, parts := range []struct {
		below, no string
		texts     v1alpha1.TestTexts
	}{{".contains", "", want.Contains}, {".lacks", "no ", want.Lacks}} {
		for _, part := range parts.texts {
			t.add(part.At, parts.below, "", func(_ any, content string) []comparison.Mismatch {
				if strings.Contains(content, part.Value) == (parts.no == "") {
					return nil
				}
				return []comparison.Mismatch{{Want: parts.no + part.Value, Got: content}}
			})
		}
	}
	if want.Content.At.Node != nil {
		t.add(want.Content.At, ".content", "", func(_ any, content string) []comparison.Mismatch {
			return comparison.Differences("", want.Content.Value, content, true)
		})
	}
}

// values compares fields, and options of a unit.
func (t text) values(want v1alpha1.TestText) {
	items := t.written(t.list, t.name)
	for name, node := range want.Fields {
		field := ".fields." + name
		path, ok := t.parse(t.field+field, name, node)
		if !ok {
			continue
		}
		t.add(node, field, path[len(path)-1].Key, func(item any, _ string) []comparison.Mismatch {
			value, there := comparison.Follow(item, path)
			return comparison.Differences("", comparison.Plain(node), value, there)
		})
		if node.Absent() {
			t.refuseNull(node, t.field+field, name, t.noField(items, path))
		}
	}
	if t.list == "files" && want.Sections != nil {
		t.refuse(t.at, t.field, "sections are those of units")
		return
	}
	for section, options := range want.Sections {
		for option, node := range options {
			t.add(node, fmt.Sprintf(".sections.%s.%s", section, option), option, func(_ any, content string) []comparison.Mismatch {
				return optionDifferences(section, option, comparison.Plain(node), content)
			})
			if node.Absent() {
				t.unknownOption(node, section, option, items)
			}
		}
	}
}

// optionDifferences compare an option of a unit: a list is all of its values, anything else is one of them, and null
// none.
func optionDifferences(section, option string, want any, text string) []comparison.Mismatch {
	unit, err := systemd.Parse(text)
	if err != nil {
		return []comparison.Mismatch{{Want: comparison.Shown(want), Got: err.Error()}}
	}
	values := unit.Values(section, option)
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	got := any(list)
	if one := fmt.Sprint(want); want != nil && slices.Contains(values, one) {
		return nil
	}
	if len(values) == 1 {
		if _, isList := want.([]any); !isList {
			got = values[0]
		}
	}
	return comparison.Differences("", want, got, len(values) > 0)
}

func pathOf(text string) fieldpath.Path {
	path, _ := fieldpath.Parse(text) // all callers have valid paths
	return path
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
