// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// readSchema reads a schema as hack/schema just wrote it, which may be newer than what is compiled in.
func readSchema(name string) (*reference.Schema, error) {
	data, err := os.ReadFile(filepath.Join("docs", "schema", name))
	if err != nil {
		return nil, err
	}
	read, err := reference.ParseSchema(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return read, nil
}

// writeFields writes a table of all fields with those below them.
func writeFields(out *bytes.Buffer, s *reference.Schema) {
	table(out, "field", "type", "meaning")
	writeRows(out, s, "")
}

func writeRows(out *bytes.Buffer, s *reference.Schema, prefix string) {
	for _, name := range s.Order() {
		field := s.Properties[name]
		kind := field.Kind(code)
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		row(out, code(prefix+name), kind, prose(field.Description))
		writeRows(out, field, prefix+name+".")
		if items := field.Values(); items != nil {
			writeRows(out, items, prefix+name+".<name>.")
		}
		if field.Items != nil {
			writeRows(out, field.Items, prefix+name+"[].")
		}
	}
}
