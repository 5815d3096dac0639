// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// components lists the components of which flags and gates are known.
func components() []Row {
	var rows []Row
	for _, name := range kubeflags.Components() {
		rows = append(rows, Row{Name: name, Text: fmt.Sprintf("%d flags in Kubernetes %s", len(kubeflags.Flags(name, newest())), newest())})
	}
	return rows
}

func newest() kubeflags.Minor {
	versions := kubeflags.Versions()
	return versions[len(versions)-1]
}

// flagPage is about a flag: kube-apiserver/v, or v for all components that have it; or about all flags of a component.
func flagPage(name string) (*Page, error) {
	component, flag, ok := strings.Cut(name, "/")
	flag = strings.TrimLeft(flag, "-")
	if flag, _, _ = strings.Cut(flag, "="); ok && !slices.Contains(kubeflags.Components(), component) {
		return nil, unknownName("component", component, components())
	}
	switch {
	case flag != "":
		return flagOf(component, flag)
	case slices.Contains(kubeflags.Components(), component):
		return flagsOf(component), nil
	default:
		return flagOfAll(strings.TrimLeft(component, "-"))
	}
}

// flagsOf lists the flags that a component has in the newest version.
func flagsOf(component string) *Page {
	page := &Page{Heads: []Head{{"COMPONENT", component}, {"KUBERNETES", newest().String()}}}
	var rows []Row
	for _, name := range kubeflags.Flags(component, newest()) {
		history, _ := kubeflags.Flag(component, name)
		row := Row{Name: "--" + name, Type: history.Type}
		if history.DeprecatedIn(newest()) {
			row.Text = fmt.Sprintf("deprecated since %s: %s", history.Deprecated, history.Message)
		}
		rows = append(rows, row)
	}
	page.section(Section{Title: "FLAGS", Rows: rows})
	return page
}

// flagOf is about one flag of one component.
func flagOf(component, flag string) (*Page, error) {
	page := &Page{Heads: []Head{{"FLAG", "--" + flag}, {"COMPONENT", component}}}
	history, ok := kubeflags.Flag(component, flag)
	if !ok {
		former, gone := kubeflags.Former(component, flag)
		if !gone {
			return nil, fmt.Errorf("%s has had no flag --%s since Kubernetes %s%s", component, flag, kubeflags.Versions()[0],
				source.Suggest(flag, kubeflags.Flags(component, newest())))
		}
		page.Heads = append(page.Heads, Head{"KUBERNETES", fmt.Sprintf("it went before %s; %s had it", kubeflags.Versions()[0], former)})
		return page, nil
	}
	page.Heads = append(page.Heads, Head{"TYPE", history.Type}, Head{"KUBERNETES", history.Span.String()})
	if history.Deprecated != 0 {
		page.Heads = append(page.Heads, Head{"DEPRECATED", fmt.Sprintf("since %s: %s", history.Deprecated, history.Message)})
	}
	page.Heads = append(page.Heads, inRules(component, flag)...)
	return page, nil
}

// inRules says by which operation a flag is written, and what the contract says of it.
func inRules(component, flag string) []Head {
	heads := []Head{{"OPERATION", "flags"}}
	if name, ok := operation.OfFlag(flag); ok {
		heads[0].Text = name
	}
	t, ok := target.Lookup(component)
	if !ok {
		return heads
	}
	if clause, locked := contract.LockedFlag(t, flag, contract.Today); locked {
		heads = append(heads, Head{"CONTRACT", clause.String() + "; no rule can write it"})
	} else if clause, reserved := contract.ReservedFlag(t, flag); reserved && heads[0].Text == "flags" {
		heads = append(heads, Head{"CONTRACT", clause.String() + "; a rule says in override why it must write it"})
	}
	return heads
}

// flagOfAll is about a flag in all components that have it.
func flagOfAll(flag string) (*Page, error) {
	page := &Page{Heads: []Head{{"FLAG", "--" + flag}}}
	var (
		rows []Row
		all  []string
	)
	for _, component := range kubeflags.Components() {
		all = append(all, kubeflags.Flags(component, newest())...)
		if history, ok := kubeflags.Flag(component, flag); ok {
			text := history.Span.String()
			if history.Deprecated != 0 {
				text += fmt.Sprintf("; deprecated since %s", history.Deprecated)
			}
			rows = append(rows, Row{Name: component, Type: history.Type, Text: text})
		} else if former, ok := kubeflags.Former(component, flag); ok {
			rows = append(rows, Row{Name: component, Text: fmt.Sprintf("it went before %s; %s had it", kubeflags.Versions()[0], former)})
		}
	}
	if rows == nil {
		hint := source.Suggest(flag, append(all, kubeflags.Components()...))
		return nil, fmt.Errorf("no component has had a flag --%s since Kubernetes %s%s", flag, kubeflags.Versions()[0], hint)
	}
	page.section(Section{Title: "COMPONENTS", Rows: rows})
	return page, nil
}

// gates lists the feature gates of all components in any version.
func gates() []Row {
	owners := map[string][]string{}
	for _, component := range kubeflags.Components() {
		seen := map[string]bool{}
		for _, m := range kubeflags.Versions() {
			for _, name := range kubeflags.Gates(component, m) {
				if !seen[name] {
					seen[name] = true
					owners[name] = append(owners[name], component)
				}
			}
		}
	}
	var rows []Row
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		text := strings.Join(owners[name], ", ")
		if len(owners[name]) == len(kubeflags.Components()) {
			text = "all components"
		}
		rows = append(rows, Row{Name: name, Text: text})
	}
	return rows
}

// gatePage is about a feature gate, of all components or of one: kube-apiserver/VolumeAttributesClass.
func gatePage(name string) (*Page, error) {
	component, gate, ok := strings.Cut(name, "/")
	of := kubeflags.Components()
	switch {
	case !ok:
		gate = component
	case !slices.Contains(of, component):
		return nil, unknownName("component", component, components())
	default:
		of = []string{component}
	}
	page := &Page{Heads: []Head{{"GATE", gate}}}
	histories := map[string][]string{}
	var order []string
	for _, component := range of {
		if history, ok := kubeflags.Gate(component, gate); ok {
			key := history.String()
			if histories[key] == nil {
				order = append(order, key)
			}
			histories[key] = append(histories[key], component)
		}
	}
	if order == nil {
		return nil, unknownName("gate", gate, gates())
	}
	for _, key := range order {
		history, _ := kubeflags.Gate(histories[key][0], gate)
		page.section(Section{Title: "KUBERNETES (" + strings.Join(histories[key], ", ") + ")", Rows: stages(history)})
	}
	page.section(Section{Title: "EXAMPLE", Lines: []string{"- featureGates: {" + gate + ": true}"}})
	return page, nil
}

// plugins lists the admission plugins of kube-apiserver in any version.
func plugins() []Row {
	names := map[string]bool{}
	for _, m := range kubeflags.Versions() {
		for _, name := range kubeflags.Plugins(m) {
			names[name] = true
		}
	}
	var rows []Row
	for _, name := range slices.Sorted(maps.Keys(names)) {
		history, _ := kubeflags.Plugin(name)
		rows = append(rows, Row{Name: name, Text: history.Span.String() + ", " + byDefault(history)})
	}
	return rows
}

func byDefault(history kubeflags.PluginHistory) string {
	if history.Default {
		return "on by default"
	}
	return "off by default"
}

// pluginPage is about an admission plugin of kube-apiserver.
func pluginPage(name string) (*Page, error) {
	page := &Page{Heads: []Head{{"PLUGIN", name}, {"COMPONENT", "kube-apiserver"}}}
	history, known := kubeflags.Plugin(name)
	if !known {
		former, gone := kubeflags.FormerPlugin(name)
		if !gone {
			return nil, unknownName("plugin", name, plugins())
		}
		page.Heads = append(page.Heads, Head{"KUBERNETES", fmt.Sprintf("it went before %s; %s was the last that had it", kubeflags.Versions()[0], former)})
		return page, nil
	}
	page.Heads = append(page.Heads, Head{"KUBERNETES", history.Span.String()}, Head{"DEFAULT", byDefault(history)}, Head{"OPERATION", "admissionPlugins"})
	list := "enable"
	if history.Default {
		list = "disable"
	}
	page.section(Section{Title: "EXAMPLE", Lines: []string{"- admissionPlugins: {" + list + ": [" + name + "]}"}})
	return page, nil
}

// stages say for each version what a gate is in it.
func stages(history kubeflags.GateHistory) []Row {
	var rows []Row
	for _, m := range kubeflags.Versions() {
		row := Row{Name: m.String(), Text: "not there: a component does not start with it"}
		if state, ok := history[m]; ok {
			row.Text = string(state.Stage) + ", off by default"
			if state.Default {
				row.Text = string(state.Stage) + ", on by default"
			}
			if state.Locked {
				row.Text += ", locked"
			}
		}
		rows = append(rows, row)
	}
	return rows
}
