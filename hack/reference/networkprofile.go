// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// writeNetworkProfile writes the page of the document, of what is set on devices, and of what expressions see.
func writeNetworkProfile(out *bytes.Buffer) error {
	schema, err := readSchema("networkprofile.json")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# Reference of the NetworkProfile\n\nFor authors of network profiles. Look up each field here; "+
		"[network profiles](../usage/network-profile.md) has examples.\n\n## Fields\n\n")
	config := networkFields(out, schema, schema, "[configuration of a device](#configuration-of-a-device)")
	fmt.Fprintf(out, "\n## Configuration of a device\n\nThe fields are those of DRANET's NetworkConfig, whose documentation explains them. Each may be an expression.\n\n")
	networkFields(out, schema, config, "")
	fmt.Fprintf(out, "\n## What expressions see\n\nFacts of `devices` see only `device`. Clouds see "+
		"[their own variables](../usage/clouds.md#a-cloud-by-http-requests). All other expressions see:\n\n")
	writeVariables(out, policy.Variables(), policy.Summary)
	writeObjects(out, "###", policy.Variables(), policy.Summary)
	return nil
}

// networkFields writes the fields of a schema and of its references. The configuration of a device has a table of its own,
// without descriptions; networkFields returns its schema, or nil if there is none.
func networkFields(out *bytes.Buffer, root, s *Schema, device string) *Schema {
	var config *Schema
	w := &fields{out: out, root: root, brief: device == "" && s != root}
	w.kind = func(field *Schema) string {
		found := root.resolve(field)
		if device != "" && found != field {
			return device
		}
		if found.Items != nil && found.Items.Ref != "" {
			return "list of mappings"
		}
		return strings.TrimSuffix(found.Kind(), " or string")
	}
	w.hide = func(_ string, field *Schema) bool {
		found := root.resolve(field)
		if device == "" || found == field {
			return false
		}
		config = found
		return true
	}
	w.write(s, nil)
	return config
}
