// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// unit writes a systemd unit of the node or edits options of one.
func unit() Definition {
	return Definition{
		Name: "unit",
		Summary: "edits options of a systemd unit (section with set, add and remove), or writes the whole unit (content, contentFrom) and its " +
			"drop-ins; enables and starts it. On the target kubelet, the unit is kubelet.service. With ifAbsent, content keeps an existing unit",
		Example: "unit: {name: containerd.service, section: Service, add: {ExecStartPre: /bin/true}}",
		Examples: []string{
			"unit: {section: Service, add: {ExecStartPre: /bin/true}}",
			"unit: {name: containerd.service, section: Service, set: {Restart: always, Environment: [A=1, \"B=${ shoot.region }\"]}, remove: [Nice]}",
			"unit: {name: hello.service, contentFrom: files/hello.service, enable: true, command: start, ifAbsent: true}",
			"unit: {name: hello.service, content: \"[Service]\\nExecStart=/opt/bin/hello.sh\\n\"}",
			"unit: {name: containerd.service, dropIns: {10-proxy.conf: \"[Service]\\nEnvironment=A=1\\n\", old.conf: null}}",
		},
		Arguments: []Argument{
			{Name: "name", Type: fixedText, Summary: "the unit; always kubelet.service on the target kubelet"},
			{Name: "section", Type: fixedText, Summary: "the section of the options, such as Service"},
			{Name: "set", Type: mappingOf(oneOrMore), Summary: "options and their values; a list for a repeated option"},
			{Name: "add", Type: mappingOf(oneOrMore), Summary: "options and values to add to existing ones"},
			{Name: "remove", Type: names, Summary: "options to remove"},
			{Name: "content", Type: longText, Summary: "the whole unit"},
			{Name: "contentFrom", Type: fixedText, Summary: "a file next to the profile with the whole unit; ${ } in it is not evaluated"},
			{Name: "enable", Type: computed(boolean), Summary: "whether the unit starts at boot"},
			{Name: "command", Type: computed(oneOfTexts(unitCommands...)), Summary: "action when the unit changes"},
			{Name: "dropIns", Type: mappingOf(orNull(anyText)), Summary: "texts of drop-ins, by names that end in .conf; null removes a drop-in"},
			{Name: "ifAbsent", Type: boolean, Summary: "whether an existing unit is kept"},
		},
		Parts:   target.Units,
		compile: compileUnit,
	}
}

var unitCommands = []string{"start", "stop", "restart"}

func compileUnit(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var findings source.Findings
	name := textOf(arguments.Get("name"))
	if c.Target.Name == "kubelet" && name == "" {
		name = target.KubeletUnit
	}
	if !strings.Contains(name, ".") {
		findings = append(findings, memberOr(arguments, "name").Finding(path+".name", "must be the name of a unit, such as containerd.service").Of(source.WrongValue))
	}
	if (c.Target.Name == "kubelet") != (name == target.KubeletUnit) && len(findings) == 0 {
		findings = append(findings, memberOr(arguments, "name").
			Finding(path+".name", "%s is edited on the target kubelet, and other units on the target node", target.KubeletUnit).Of(WrongTarget))
	}
	if len(findings) > 0 {
		return nil, findings
	}
	var writes []Write
	for _, compile := range []func(c *Context, unit string, arguments source.Node, path string) ([]Write, source.Findings){
		compileUnitContent, compileUnitFields, compileUnitDropIns, compileUnitOptions,
	} {
		more, problems := compile(c, name, arguments, path)
		writes, findings = append(writes, more...), append(findings, problems...)
	}
	if len(writes)+len(findings) == 0 {
		findings = append(findings, arguments.Finding(path, "nothing to do for the unit").Of(NothingToDo))
	}
	return writes, findings
}

func compileUnitContent(c *Context, unit string, arguments source.Node, path string) ([]Write, source.Findings) {
	text, findings := compileTextOrFile(c, arguments, path)
	if text == nil || len(findings) > 0 {
		return nil, findings
	}
	if unit == target.KubeletUnit {
		return nil, source.Findings{arguments.Finding(path+".content", "the unit of the kubelet is Gardener's; only its options can be edited").Of(WrongTarget)}
	}
	content := source.Node{Node: text, File: arguments.File}
	at := path + ".content"
	if arguments.Get("content").Absent() {
		at += "From"
	}
	value, findings := c.Text(content, at)
	if len(findings) == 0 {
		findings = isUnit(unit, value, content, at)
	}
	if text, computed := constantUnitText(value); len(findings) == 0 && !computed && !strings.Contains(text, "[") {
		findings = source.Findings{content.Finding(at, "has no section, such as [Service]").Of(WrongUnit)}
	}
	ifAbsent := isTrue(arguments.Get("ifAbsent"))
	return []Write{{
		Place: Place{Kind: Unit, Name: unit}, Value: value.escaped(inUnitText), At: arguments, Path: path,
		Apply: func(o *target.Object, v Resolved) error {
			if ifAbsent && unitPath(unit).find(o.Document.Root()) != nil {
				return nil
			}
			return unitPath(unit).with("content").write(o.Document.Root(), v)
		},
	}}, findings
}

// compileUnitFields compiles the fields of a unit that control its use by systemd.
func compileUnitFields(c *Context, unit string, arguments source.Node, path string) ([]Write, source.Findings) {
	k := writeBuilder{place: Place{Kind: UnitField, Container: unit}, path: unitPath(unit).with}
	if command := arguments.Get("command"); !command.Absent() && !slices.Contains(unitCommands, command.Value) && !strings.Contains(command.Value, "${") {
		k.findings = append(k.findings, command.Finding(path+".command", "must be start, stop or restart, is %q", command.Value).Of(source.WrongValue))
	}
	k.findings = append(k.findings, checkBoolean(arguments.Get("enable"), path+".enable")...)
	for _, name := range []string{"enable", "command"} {
		if field := arguments.Get(name); !field.Absent() {
			value, problems := c.Tree(field, path+"."+name)
			k.findings = append(k.findings, problems...)
			k.add(name, field, path+"."+name, value)
		}
	}
	return k.writes, k.findings
}

func compileUnitDropIns(c *Context, unit string, arguments source.Node, path string) ([]Write, source.Findings) {
	k := writeBuilder{
		place: Place{Kind: DropIn, Container: unit},
		value: func(n source.Node, path string) (Value, source.Findings) {
			if n.Absent() {
				return Remove(), nil
			}
			value, findings := c.Text(n, path)
			if len(findings) == 0 {
				findings = isUnit(unit, value, n, path)
			}
			return value.escaped(inUnitText), findings
		},
		check: func(name string) string {
			if !strings.HasSuffix(name, ".conf") {
				return "the name of a drop-in must end in .conf"
			}
			return ""
		},
		apply: func(o *target.Object, name string, v Resolved) error {
			at := unitPath(unit).with("dropIns").item("name", name)
			if !v.Absent {
				at = at.with("content")
			}
			return at.write(o.Document.Root(), v)
		},
	}
	k.addValues(arguments.Get("dropIns"), path+".dropIns")
	return k.writes, k.findings
}

// compileUnitOptions compiles edits of options in one section.
func compileUnitOptions(c *Context, unit string, arguments source.Node, path string) ([]Write, source.Findings) {
	set, added, removed, section := arguments.Get("set"), arguments.Get("add"), arguments.Get("remove").Items(), textOf(arguments.Get("section"))
	if set.Absent() && added.Absent() && len(removed) == 0 {
		if section != "" {
			return nil, source.Findings{arguments.Finding(path+".section", "set, add or remove is needed with a section").Of(NothingToDo)}
		}
		return nil, nil
	}
	if section == "" {
		return nil, source.Findings{arguments.Finding(path+".section", "is missing: options stand in a section, such as Service").Of(source.MissingField)}
	}
	if problem := checkSection(unit, section); problem != "" {
		at := arguments.Get("section")
		return nil, source.Findings{at.Finding(path+".section", "%s", problem).Of(WrongUnit).Instead(at, sectionsOf(unit))}
	}
	k := writeBuilder{
		place: Place{Kind: UnitOption, Container: unit, Name: section + "."}, value: c.with(compileOptionValues),
		check: func(name string) string {
			if unit == target.KubeletUnit && name == "ExecStart" {
				return "the command line of the kubelet is edited with the operation flags"
			}
			if strings.ContainsAny(name, "=[]\n #;") {
				return fmt.Sprintf("%q is not the name of an option", name)
			}
			return ""
		},
		apply: func(o *target.Object, option string, v Resolved) error { return setOption(o, unit, section, option, v) },
	}
	adding := k
	k.addValues(set, path+".set")
	k.addNames(removed, path+".remove", Remove())
	adding.apply = func(o *target.Object, option string, v Resolved) error {
		return addOptions(o, unit, section, option, v.Texts)
	}
	adding.addValues(added, path+".add")
	for i := range adding.writes {
		// Several rules may add options, so that each addition is a separate place.
		adding.writes[i].Place.Name += " added at " + adding.writes[i].At.Position().String()
		adding.writes[i].Adds = true
	}
	writes := slices.Concat(k.writes, adding.writes)
	for i := range writes {
		writes[i].Value = writes[i].Value.escaped(inOption(strings.TrimPrefix(writes[i].Place.Name, section+".")))
	}
	return writes, append(k.findings, adding.findings...)
}

// compileOptionValues compiles one text, or a list of texts for a repeated option.
func compileOptionValues(c *Context, n source.Node, path string) (Value, source.Findings) {
	if n.Node != nil && n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		return c.Texts(n.Items(), path)
	}
	return c.Text(n, path)
}

func setOption(o *target.Object, unit, section, option string, v Resolved) error {
	u, err := o.Unit(unit)
	if err != nil {
		return err
	}
	if v.Absent {
		u.Remove(section, option)
		return nil
	}
	return nested(u.Set(section, option, v.Texts...), "%s of unit %s", option, unit)
}

func addOptions(o *target.Object, unit, section, option string, values []string) error {
	u, err := o.Unit(unit)
	if err != nil {
		return err
	}
	for _, value := range values {
		if err := u.Add(section, option, value); err != nil {
			return nested(err, "%s of unit %s", option, unit)
		}
	}
	return nil
}

// unitPath returns the path of a unit in an OperatingSystemConfig.
func unitPath(name string) fieldPath { return pathOf("spec", "units").item("name", name) }

// unitSections lists the sections that systemd reads in each type of unit in addition to [Unit] and [Install]
// (systemd.unit(5) and the page of each type; src/core/load-fragment-gperf.gperf.in). systemd ignores other sections,
// and those with the prefix X- silently.
var unitSections = map[string][]string{
	".service": {"Service"}, ".socket": {"Socket"}, ".mount": {"Mount"}, ".automount": {"Automount"}, ".swap": {"Swap"}, ".path": {"Path"},
	".timer": {"Timer"}, ".slice": {"Slice"}, ".scope": {"Scope"}, ".target": {}, ".device": {},
}

// sectionsOf returns the sections of a unit, or nil for an unknown type.
func sectionsOf(unit string) []string {
	own, known := unitSections[path.Ext(unit)]
	if !known {
		return nil
	}
	return append([]string{"Unit", "Install"}, own...)
}

// checkSection validates the section of a unit. It returns "" for a section that systemd reads, and for units of an
// unknown type.
func checkSection(unit, section string) string {
	sections := sectionsOf(unit)
	if sections == nil || strings.HasPrefix(section, "X-") || slices.Contains(sections, section) {
		return ""
	}
	return fmt.Sprintf("systemd reads no section %q in %s%s", section, unit, source.Suggest(section, sections))
}

// standsFor replaces an expression while a unit is checked. It is valid both as a part of a value and as a line.
const standsFor = "x=x"

// checkUnitText returns the mistake in a unit or a drop-in, or "" if systemd reads all of it.
func checkUnitText(unit string, v Value) string {
	text, computed := constantUnitText(v)
	if computed && !begun.MatchString(text) {
		return "" // an expression may give the section
	}
	read, err := systemd.Parse(text)
	if err != nil {
		problem := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "reading a unit: "), ": "+systemd.ErrUnit.Error())
		return "is not valid for systemd: " + problem
	}
	for _, section := range read.Sections() {
		if strings.Contains(section, standsFor) {
			continue
		}
		if problem := checkSection(unit, section); problem != "" {
			return problem
		}
		for _, option := range read.Options(section) {
			if !optionName.MatchString(option) {
				return fmt.Sprintf("is not valid for systemd: %q in section %s is not the name of an option", option, section)
			}
		}
	}
	return ""
}

// constantUnitText returns a text with standsFor in place of computed parts, and whether it has computed parts.
func constantUnitText(v Value) (string, bool) {
	if constant, ok := v.Constant(); ok {
		return constant.Text(), false
	}
	if len(v.texts) == 0 {
		return "", true
	}
	return v.texts[0].With(standsFor), true
}

// isUnit returns the findings of the text of a unit or a drop-in.
func isUnit(unit string, v Value, n source.Node, path string) source.Findings {
	if problem := checkUnitText(unit, v); problem != "" {
		return source.Findings{n.Finding(path, "%s", problem).Of(WrongUnit)}
	}
	return nil
}
