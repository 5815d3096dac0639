// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Page lists flags, feature gates or admission plugins, with the versions of Kubernetes that have them.
type Page struct {
	// Topic is flag, gate or plugin.
	Topic   string  `json:"topic"`
	Entries []Entry `json:"entries"`
}

// Entry is a flag, gate or plugin of one component.
type Entry struct {
	Name      string `json:"name"`
	Component string `json:"component"`
	// Type is the type of a flag's value.
	Type string `json:"type,omitempty"`
	// Kubernetes names the versions that have it.
	Kubernetes string `json:"kubernetes"`
	// Notes tell of deprecations, of the operation that writes a flag, and of clauses of the contract.
	Notes []string `json:"notes,omitempty"`
}

// topic is a kind of names about which there are entries.
type topic struct {
	name, summary string
	entries       func() []Entry
	// former returns the last version that had a name before the versions that are known; nil for gates.
	former func(component, name string) (kubeflags.Minor, bool)
}

// topics returns all topics. To add one: one entry here.
func topics() []topic {
	return []topic{
		{"flag", "the flags of Kubernetes' components, by version: flag kube-apiserver/v", flags, kubeflags.Former},
		{"gate", "the feature gates of Kubernetes' components, by version", gates, nil},
		{"plugin", "the admission plugins of kube-apiserver, by version", plugins, formerPlugin},
	}
}

// pluginOwner is the component that has admission plugins.
const pluginOwner = "kube-apiserver"

func formerPlugin(component, name string) (kubeflags.Minor, bool) {
	last, known := kubeflags.FormerPlugin(name)
	return last, known && component == pluginOwner
}

func flags() []Entry {
	var all []Entry
	for _, component := range kubeflags.Components() {
		for _, name := range kubeflags.EverKnown(component, kubeflags.Flags) {
			history, _ := kubeflags.Flag(component, name)
			e := Entry{Name: "--" + name, Component: component, Type: history.Type, Kubernetes: history.Span.String()}
			if history.Deprecated != 0 {
				e.Notes = append(e.Notes, fmt.Sprintf("deprecated since %s: %s", history.Deprecated, history.Message))
			}
			e.Notes = append(e.Notes, inRules(component, name)...)
			all = append(all, e)
		}
	}
	return all
}

// inRules returns the operation that writes a flag, if it is not flags, and the contract's clause about it.
func inRules(component, flag string) []string {
	var notes []string
	name, special := operation.OfFlag(flag)
	if special {
		notes = append(notes, "written by the operation "+name)
	}
	t, ok := target.Lookup(component)
	if !ok {
		return notes
	}
	if clause, locked := contract.LockedFlag(t, flag, contract.Today); locked {
		notes = append(notes, clause.String()+"; no rule can write it")
	} else if clause, reserved := contract.ReservedFlag(t, flag); reserved && !special {
		notes = append(notes, clause.String()+"; a rule says in override why it must write it")
	}
	return notes
}

func gates() []Entry {
	var all []Entry
	for _, component := range kubeflags.Components() {
		for _, name := range kubeflags.EverKnown(component, kubeflags.Gates) {
			history, _ := kubeflags.Gate(component, name)
			all = append(all, Entry{Name: name, Component: component, Kubernetes: history.String(), Notes: defaults(history)})
		}
	}
	return all
}

// defaults returns since when a gate is on or off by default.
func defaults(history kubeflags.GateHistory) []string {
	var notes []string
	last := ""
	for i, version := range kubeflags.Versions() {
		state, ok := history[version]
		word := map[bool]string{true: "on", false: "off"}[state.Default] + " by default"
		if !ok || word == last {
			continue
		}
		last = word
		if i > 0 {
			word += " since " + version.String()
		}
		notes = append(notes, word)
	}
	return notes
}

func plugins() []Entry {
	var all []Entry
	for _, name := range kubeflags.EverKnown("", func(_ string, m kubeflags.Minor) []string { return kubeflags.Plugins(m) }) {
		history, _ := kubeflags.Plugin(name)
		byDefault := "off by default"
		if history.Default {
			byDefault = "on by default"
		}
		all = append(all, Entry{Name: name, Component: pluginOwner, Kubernetes: history.Span.String(), Notes: []string{byDefault}})
	}
	return all
}

// IsStatic reports whether words name a topic and no object, which has a slash between kind and name.
func IsStatic(words []string) bool {
	return len(words) == 0 || !strings.Contains(words[0], "/") || topicOf(words[0]) != nil
}

func topicOf(name string) *topic {
	for _, t := range topics() {
		if strings.EqualFold(t.name, name) {
			return &t
		}
	}
	return nil
}

// Static returns the entries of a topic: all, those of a component, or those of a name, as in kube-apiserver/v. It
// fails for an unknown component or name.
func Static(words ...string) (*Page, error) {
	t := topicOf(words[0])
	if t == nil {
		return nil, unknown(words[0])
	}
	component, name, both := strings.Cut(strings.Join(words[1:], "/"), "/")
	known := kubeflags.Components()
	switch {
	case both && !slices.Contains(known, component):
		return nil, fmt.Errorf("there is no component %q%s", component, source.Suggest(component, known))
	case !slices.Contains(known, component):
		component, name = "", component
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, "-"), "=")
	page := &Page{Topic: t.name}
	var names []string
	for _, e := range append(t.entries(), t.removed(name)...) {
		if component != "" && e.Component != component {
			continue
		}
		bare := strings.TrimPrefix(e.Name, "--")
		names = append(names, bare)
		if name == "" || bare == name {
			page.Entries = append(page.Entries, e)
		}
	}
	if len(page.Entries) > 0 {
		return page, nil
	}
	hint := source.Suggest(name, names)
	if hint == "" {
		hint = fmt.Sprintf("; `graft explain %s` lists all", t.name)
	}
	if component != "" {
		component = " of " + component
	}
	return nil, fmt.Errorf("there is no %s %q%s%s", t.name, name, component, hint)
}

// removed returns the entries of a name that was removed before the versions that are known.
func (t *topic) removed(name string) (entries []Entry) {
	if t.former == nil {
		return nil
	}
	for _, component := range kubeflags.Components() {
		if last, gone := t.former(component, name); gone {
			e := Entry{Name: name, Component: component, Kubernetes: fmt.Sprintf("removed before %s; %s was the last that had it", kubeflags.Versions()[0], last)}
			if t.name == "flag" {
				e.Name = "--" + name
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// unknown returns the error for a word that is no topic. It suggests the topic of a name.
func unknown(word string) error {
	var known []string
	for _, t := range topics() {
		known = append(known, t.name)
		if slices.ContainsFunc(t.entries(), func(e Entry) bool { return word == e.Component || word == strings.TrimPrefix(e.Name, "--") }) {
			return fmt.Errorf("%q is not a topic; see `graft explain %s %s`", word, t.name, word)
		}
	}
	if hint := source.Suggest(word, known); hint != "" {
		return fmt.Errorf("%q is not a topic%s", word, hint)
	}
	return fmt.Errorf("%q is neither a topic (%s) nor an object, which is written as kind/name; "+
		"docs/reference describes operations, expressions and fields", word, strings.Join(known, ", "))
}

// Complete returns completions of the last word after the preceding ones, each followed by a tab and a description.
func Complete(words []string, begun string) []string {
	var offered []string
	if len(words) == 0 {
		for _, t := range topics() {
			offered = append(offered, t.name+"\t"+t.summary)
		}
		for _, name := range target.Names() {
			t, _ := target.Lookup(name)
			for _, form := range t.Forms {
				if form.Name != "" {
					offered = append(offered, strings.ToLower(form.Kind)+"/"+form.Name+"\t"+t.Summary)
				}
			}
		}
		return offered
	}
	t := topicOf(words[0])
	if t == nil || len(words) > 1 {
		return nil
	}
	for _, e := range t.entries() {
		name := strings.TrimPrefix(e.Name, "--")
		if strings.Contains(begun, "/") {
			name = e.Component + "/" + name
		}
		offered = append(offered, name+"\t"+e.Component)
	}
	return offered
}

// Write writes the page as a table, in which components share a line with the same entry. It fails if w cannot be
// written.
func (p *Page) Write(w io.Writer) error {
	typed := slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.Type != "" })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(columns ...string) {
		if !typed {
			columns = slices.Delete(columns, 2, 3)
		}
		fmt.Fprintln(table, strings.TrimRight(strings.Join(columns, "\t"), "\t"))
	}
	row(strings.ToUpper(p.Topic), "COMPONENT", "TYPE", "KUBERNETES", "NOTES")
	owners := map[string][]string{}
	key := func(e Entry) string { return fmt.Sprint(e.Name, e.Type, e.Kubernetes, e.Notes) }
	for _, e := range p.Entries {
		owners[key(e)] = append(owners[key(e)], e.Component)
	}
	for _, e := range p.Entries {
		all := owners[key(e)]
		if all[0] != e.Component {
			continue
		}
		in := strings.Join(all, ", ")
		if len(all) == len(kubeflags.Components()) {
			in = "all"
		}
		row(e.Name, in, e.Type, e.Kubernetes, strings.Join(e.Notes, "; "))
	}
	return table.Flush()
}

// Overview returns the list of topics, for the command without arguments.
func Overview() string {
	var out strings.Builder
	out.WriteString("Name an object (kind/name) to see what each rule does with it and why, or one of these topics:\n\n")
	for _, t := range topics() {
		fmt.Fprintf(&out, "  %-8s%s\n", t.name, t.summary)
	}
	return out.String()
}
