// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// writeNetworkProfile writes the page of the document, of what is set on devices, and of what expressions see.
func writeNetworkProfile(out *bytes.Buffer) error {
	schema, err := readSchema("networkprofile.json")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Reference of the NetworkProfile\n\n%s [Writing a network profile](../usage/network-profile.md) explains it by example.\n\n## Fields\n\n",
		schema.Description)
	table(out, "field", "type", "meaning")
	var config *reference.Schema
	networkRows(out, schema, schema, "", func(s *reference.Schema) { config = s })
	fmt.Fprintf(out, "\n## Configuration of a device\n\nThe fields are those of DRANET's NetworkConfig. Each may be one expression, which comes to a value of its type; "+
		"a text may hold several.\n\n")
	table(out, "field", "type", "meaning")
	networkRows(out, schema, config, "", nil)
	fmt.Fprintf(out, "\n## What expressions see\n\nThe facts of `devices` see `device` alone, the declarations of clouds "+
		"[what they are told](../usage/clouds.md#a-cloud-by-http-requests), all other expressions:\n\n")
	table(out, "variable", "type", "meaning")
	for _, variable := range policy.Variables() {
		row(out, code(variable.Name), code(variable.TypeName()), policy.Summary(variable.Name))
	}
	for _, variable := range policy.Variables() {
		if variable.Object == nil {
			continue
		}
		fmt.Fprintf(out, "\n### %s\n\n", variable.Object.Name())
		table(out, "field", "type", "meaning")
		for _, field := range variable.Object.Fields() {
			row(out, code(field), code(variable.Object.FieldType(field)), policy.Summary(variable.Object.Name()+"."+field))
		}
	}
	return nil
}

// networkRows writes the fields of a schema and of what it refers to. A configuration of a device is given to each, where there is one, and has a
// table of its own.
func networkRows(out *bytes.Buffer, root, s *reference.Schema, prefix string, each func(*reference.Schema)) {
	for _, name := range s.Order() {
		field := s.Properties[name]
		text, found := field.Description, resolved(root, field)
		if found != field && each != nil {
			row(out, code(prefix+name), "[configuration of a device](#configuration-of-a-device)", prose(text))
			each(found)
			continue
		}
		kind := strings.TrimSuffix(found.Kind(code), " or string")
		if found.Items != nil && found.Items.Ref != "" {
			kind = "list of mappings"
		}
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		row(out, code(prefix+name), kind, prose(text))
		networkRows(out, root, found, prefix+name+".", each)
		if values := found.Values(); values != nil {
			networkRows(out, root, values, prefix+name+".<name>.", each)
		}
		if found.Items != nil {
			networkRows(out, root, resolved(root, found.Items), prefix+name+"[].", each)
		}
	}
}

// resolved is the definition that a reference means, and any other schema itself.
func resolved(root, s *reference.Schema) *reference.Schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return s
}
