// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// writeProfile writes the page of the document: its fields, those of a rule, and the targets.
func writeProfile(out *bytes.Buffer) error {
	schema, err := readSchema("providerprofile.json")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Reference of the ProviderProfile\n\nFor authors of profiles. Look up fields and targets here, "+
		"[operations](operations.md) and [expressions](expressions.md) on their own pages; [profiles](../usage/profile.md) has examples.\n\n"+
		"## Fields\n\n")
	writeFields(out, schema)
	fmt.Fprintf(out, "\n## Rules\n\nA rule has one [operation](operations.md) as its key, and these fields:\n\n")
	table(out, "field", "type", "meaning")
	rule := schema.resolve(schema.Definitions["set"].Properties["kubelet"].Items)
	for _, name := range v1alpha1.RuleFields {
		row(out, code(name), rule.Properties[name].Kind(), prose(rule.Properties[name].Description))
	}
	fmt.Fprintf(out, "\n`purposes` is for the targets kubelet and node.\n\n## Targets\n\nEach set has lists of rules by target.\n\n")
	table(out, "target", "what it is", "objects", "own container")
	for _, name := range target.Names() {
		found, _ := target.Lookup(name)
		var forms []string
		for _, form := range found.Forms {
			forms = append(forms, form.String())
		}
		row(out, code(name), found.Summary, code(forms...), found.Container)
	}
	writeOthers(out, schema)
	return nil
}

// writeOthers writes the rules for other objects of a set.
func writeOthers(out *bytes.Buffer, s *Schema) {
	fmt.Fprintf(out, "\n## Other objects\n\n%s of a set are a list of:\n\n", code(v1alpha1.ObjectsField))
	writeFields(out, s.Definitions["set"].Properties[v1alpha1.ObjectsField].Items)
	fmt.Fprintf(out, "\nWhich operations there are depends on the kind:\n\n")
	table(out, "kind", "operations")
	for _, other := range append(target.Others(), target.Other(target.Form{Kind: "all others"})) {
		row(out, other.Name, code(operationsOf(other)...))
	}
}

// writeConfiguration writes the page of a configuration from its schema.
func writeConfiguration(file string) func(*bytes.Buffer) error {
	return func(out *bytes.Buffer) error {
		schema, err := readSchema(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "# Reference of the %s\n\nFor operators. %s\n\n", schema.Properties["kind"].Const, schema.Description)
		writeFields(out, schema)
		return nil
	}
}
