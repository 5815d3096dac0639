// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// Complete lists what may stand next behind the words, for the completion of shells: topics and the objects of the contract, then the
// names of a topic. Begun is what is there of the word already.
func Complete(words []string, begun string) []Row {
	if len(words) == 0 {
		if word, rest, ok := strings.Cut(begun, "."); ok {
			return prefixed(word+".", belowOf(word, rest))
		}
		return append(slices.Clone(overview().Sections[0].Rows), objects()...)
	}
	t, ok := topicOf(words[0])
	switch {
	case !ok || len(words) > 1:
		return nil
	case t.names == nil:
		return belowOf(words[0], begun)
	case t.below != nil && strings.ContainsAny(begun, "./"):
		return t.below(begun)
	}
	return t.names()
}

// belowOf is how what is asked of a topic may go on.
func belowOf(word, begun string) []Row {
	if k, ok := kindNamed(word); ok {
		word = k.word
	}
	t, ok := topicOf(word)
	if !ok || t.below == nil {
		return nil
	}
	return t.below(begun)
}

func prefixed(prefix string, rows []Row) []Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Name = prefix + rows[i].Name
	}
	return rows
}

// objects are the objects of the contract that have a name, as they are named on the command line.
func objects() []Row {
	var rows []Row
	for _, name := range target.Names() {
		t, _ := target.Lookup(name)
		for _, form := range t.Forms {
			if form.Name != "" {
				rows = append(rows, Row{Name: strings.ToLower(form.Kind) + "/" + form.Name, Text: t.Summary})
			}
		}
	}
	return rows
}

// begin cuts what has been begun behind its last separator.
func begin(begun, separator string) string {
	return begun[:strings.LastIndex(begun, separator)+1]
}

// below lists the fields below the path that has been begun.
func (k kind) below(begun string) []Row {
	path := begin(begun, ".")
	found, err := k.schema().At(path)
	if err != nil {
		return nil
	}
	var rows []Row
	for _, field := range k.schema().Fields(found) {
		rows = append(rows, Row{Name: path + last(field.Path), Text: field.Description})
	}
	return rows
}

func argumentsBelow(begun string) []Row {
	name, _, _ := strings.Cut(begun, ".")
	d, ok := operation.Lookup(name)
	if !ok {
		return nil
	}
	var rows []Row
	for _, a := range reference.Arguments(d) {
		if short := bare(a.Name); short != "" && !strings.HasPrefix(short, "<") {
			rows = append(rows, Row{Name: name + "." + short, Text: a.Summary})
		}
	}
	return rows
}

func fieldsBelow(begun string) []Row {
	path := begin(begun, ".")
	page, err := variablePage(strings.TrimSuffix(path, "."))
	if err != nil || len(page.Sections) == 0 {
		return nil
	}
	return prefixed(path, page.Sections[0].Rows)
}

func flagsBelow(begun string) []Row {
	component := strings.TrimSuffix(begin(begun, "/"), "/")
	var rows []Row
	for _, name := range kubeflags.Flags(component, newest()) {
		rows = append(rows, Row{Name: component + "/" + name})
	}
	return rows
}
