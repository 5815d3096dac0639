// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Complete returns the words that may follow others, of which the last has begun.
func Complete(words []string, begun string) []Row {
	if len(words) == 0 {
		return append(slices.Clone(overview().Sections[0].Rows), objects()...)
	}
	t, ok := topicOf(words[0])
	switch {
	case !ok || len(words) > 1:
		return nil
	case t.below != nil && strings.Contains(begun, "/"):
		return t.below(begun)
	}
	return t.names()
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

func flagsBelow(begun string) []Row {
	component := strings.TrimSuffix(begin(begun, "/"), "/")
	var rows []Row
	for _, name := range kubeflags.Flags(component, newest()) {
		rows = append(rows, Row{Name: component + "/" + name})
	}
	return rows
}
