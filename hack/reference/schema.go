// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

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

// writeFields writes the fields of a schema without references.
func writeFields(out *bytes.Buffer, s *reference.Schema) {
	w := &fields{out: out, root: s, kind: plainKind, hide: isReference}
	w.write(s, nil)
}

// isReference reports whether a field is described elsewhere on the page.
func isReference(_ string, field *reference.Schema) bool { return field.Ref != "" }
