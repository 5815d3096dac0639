// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// operations lists all operations.
func operations() []Row {
	var rows []Row
	for _, d := range operation.All() {
		rows = append(rows, Row{Name: d.Name, Text: reference.FirstPart(d.Summary)})
	}
	return rows
}

// operationPage is about an operation, or about an argument of one: volumes.set.mount.
func operationPage(name string) (*Page, error) {
	name, argument, _ := strings.Cut(name, ".")
	d, ok := operation.Lookup(name)
	if !ok {
		return nil, unknownName("operation", name, operations())
	}
	page := &Page{Heads: []Head{{"OPERATION", d.Name}}, Text: sentence(d.Summary)}
	arguments := reference.Arguments(d)
	if argument != "" {
		found, err := argumentNamed(d.Name, argument, arguments)
		if err != nil {
			return nil, err
		}
		page.Heads = append(page.Heads, Head{"ARGUMENT", found.Name + " <" + argumentType(*found) + ">"})
		page.Text = sentence(found.Summary)
		arguments = below(found.Name, arguments)
	}
	var rows []Row
	for _, a := range arguments {
		rows = append(rows, Row{Name: a.Name, Type: argumentType(a), Required: a.Required, Computed: a.Computed, Text: a.Summary})
	}
	page.section(Section{Title: "ARGUMENTS", Rows: rows})
	page.section(Section{Title: "EXAMPLE", Lines: examplesOf(d)})
	if argument == "" {
		if d.KeepsByDefault {
			page.section(Section{Title: "ON UPDATE", Text: "It keeps what the old object has, unless the rule has onUpdate: set."})
		}
		page.section(Section{Title: "TARGETS", Text: strings.Join(reference.Targets(d), ", ")})
	}
	return page, nil
}

// examplesOf are the rules that show the operation.
func examplesOf(d operation.Definition) []string {
	lines := make([]string, 0, 1+len(d.Examples))
	for _, example := range append([]string{d.Example}, d.Examples...) {
		lines = append(lines, "- "+example)
	}
	return lines
}

func argumentType(a reference.Argument) string {
	return reference.TypeWords(a.Type, reference.Plain)
}

// argumentNamed finds an argument by its name, in which names that are free need not be named.
func argumentNamed(operation, name string, all []reference.Argument) (*reference.Argument, error) {
	known := make([]string, len(all))
	for i := range all {
		short := bare(all[i].Name)
		if all[i].Name == name || short == bare(name) {
			return &all[i], nil
		}
		known[i] = short
	}
	return nil, &unknownArgument{operation, name, source.Suggest(name, known)}
}

// bare is the name of an argument without what stands for names that are free, and for items.
func bare(name string) string {
	return strings.Trim(strings.ReplaceAll(strings.ReplaceAll(name, "<name>.", ""), "[]", ""), ".")
}

type unknownArgument struct{ operation, name, hint string }

func (e *unknownArgument) Error() string {
	return "the operation " + e.operation + " has no argument \"" + e.name + "\"" + e.hint
}

// below are the arguments within one.
func below(name string, all []reference.Argument) []reference.Argument {
	var within []reference.Argument
	for _, a := range all {
		if strings.HasPrefix(a.Name, name+".") || strings.HasPrefix(a.Name, name+"[") {
			within = append(within, a)
		}
	}
	return within
}

// targets lists all targets.
func targets() []Row {
	var rows []Row
	for _, name := range target.Names() {
		if t, ok := target.Lookup(name); ok {
			rows = append(rows, Row{Name: name, Text: t.Summary})
		}
	}
	return rows
}

// targetPage is about a target.
func targetPage(name string) (*Page, error) {
	t, ok := target.Lookup(name)
	if !ok {
		return nil, unknownName("target", name, targets())
	}
	page := &Page{Heads: []Head{{"TARGET", t.Name}}, Text: sentence(t.Summary)}
	var forms []string
	for _, form := range t.Forms {
		forms = append(forms, strings.TrimPrefix(form.Group+"/"+form.Version, "/")+" "+form.String())
	}
	page.Heads = append(page.Heads, Head{"OBJECTS", strings.Join(forms, ", ")})
	if t.Container != "" {
		page.Heads = append(page.Heads, Head{"CONTAINER", t.Container})
	}
	if t.Garden {
		page.Heads = append(page.Heads, Head{"NAMESPACE", target.GardenNamespace})
	}
	var rows []Row
	for _, name := range reference.Operations(t) {
		d, _ := operation.Lookup(name)
		rows = append(rows, Row{Name: name, Text: reference.FirstPart(d.Summary)})
	}
	page.section(Section{Title: "OPERATIONS", Rows: rows})
	page.section(Section{Title: "RESERVED FLAGS", Rows: reservedRows(t)})
	return page, nil
}
