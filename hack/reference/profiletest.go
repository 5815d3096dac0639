// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
)

// writeProfileTest writes the page of tests: tables, settings and expectations.
func writeProfileTest(out *bytes.Buffer) error {
	schema, err := readSchema("providerprofiletest.json")
	if err != nil {
		return err
	}
	setting, cases := schema.Definitions["setting"], schema.Properties["cases"].Items
	fmt.Fprintf(out, "# Reference of the ProviderProfileTest\n\nFor authors of tests that `graft test` runs. Look up each field here; "+
		"[testing](../usage/testing.md) has examples.\n\n## Fields\n\n")
	testRows(out, schema, nil)
	fmt.Fprintf(out, "\n## Cases\n\nA case has the fields of a [setting](#settings), and these:\n\n")
	testRows(out, cases, setting)
	fmt.Fprintf(out, "\n## Settings\n\n")
	testRows(out, setting, nil)
	fmt.Fprintf(out, "\n## Expectations\n\nBy [target](profile.md#targets), by kind and name such as `Deployment/acme`, or for all `%s`. An "+
		"expectation is one of the words %s, or has fields:\n\n", v1alpha1.TestOthers, code(v1alpha1.TestStates...))
	testRows(out, schema.Definitions["expectation"].AnyOf[1], nil)
	return nil
}

// testRows writes the fields of a schema without those of another one.
func testRows(out *bytes.Buffer, s, without *Schema) {
	w := &fields{out: out, root: &Schema{}, kind: testKind, hide: isLinked}
	w.write(s, without)
}

// isLinked reports whether the fields below a field are in another table of the page.
func isLinked(name string, field *Schema) bool {
	return name == "cases" || strings.Contains(testKind(field), "](#")
}

// testKind returns the type of a field with links to other tables of the page.
func testKind(s *Schema) string {
	definition := func(s *Schema) string {
		switch strings.TrimPrefix(s.Ref, "#/definitions/") {
		case "setting":
			return "[setting](#settings)"
		case "expectations":
			return "[expectations](#expectations)"
		case "want":
			return "[what is wanted](#what-is-wanted)"
		}
		return ""
	}
	if known := definition(s); known != "" {
		return known
	}
	if values := s.Values(); values != nil {
		if known := definition(values); known != "" {
			return "mapping of names to " + known
		}
	}
	if s.Items != nil && s.Items.Properties["expect"] != nil {
		return "list of [cases](#cases)"
	}
	// Every setting accepts null, which resets it; this is not repeated for each.
	words := strings.TrimSuffix(s.Kind(), " or null")
	if types, ok := s.Type.([]any); ok && s.Items != nil && slices.Contains(types, any("string")) {
		words = "string, or " + words
	}
	return words
}
