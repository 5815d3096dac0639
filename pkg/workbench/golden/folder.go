// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ReadCase decodes case.yaml in the folder of a case, which may be missing or empty, and is the document; the folder where there is none.
func ReadCase(folder string, into any) (source.Node, source.Findings) {
	none := source.Node{File: folder}
	name := filepath.Join(folder, CaseFile)
	data, err := Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, source.FindingsOf(none, "", err)
	}
	nodes, findings := source.Parse(source.File{Name: name, Data: data})
	if len(findings) > 0 || len(nodes) == 0 {
		return none, findings
	}
	if len(nodes) > 1 {
		findings = append(findings, nodes[1].Finding("", "a second document: a case is one"))
	}
	return nodes[0], append(findings, source.Decode(nodes[0], "", into)...)
}
