// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// contentFrom is the field by which an argument of an operation names a file beside the profile.
const contentFrom = "contentFrom"

// Attach gives the file the attachments that its documents name in contentFrom fields. read gets a path that has no .. and
// does not begin with a slash; what it cannot read is left out, and found when the profile is compiled.
func Attach(file source.File, read func(path string) ([]byte, error)) source.File {
	file.Attachments = nil
	// Readers poll, and parsing is most of the work; a key that is written with escapes or in UTF-16 is none that anybody writes.
	if !bytes.Contains(file.Data, []byte(contentFrom)) {
		return file
	}
	nodes, _ := source.Parse(file)
	for _, node := range nodes {
		attach(&file, node, read)
	}
	return file
}

func attach(file *source.File, n source.Node, read func(path string) ([]byte, error)) {
	for _, field := range n.Fields() {
		if field.Key.Value != contentFrom || field.Value.Kind != yaml.ScalarNode {
			attach(file, field.Value, read)
			continue
		}
		path := field.Value.Value
		if !fs.ValidPath(path) || path == "." {
			continue
		}
		if data, err := read(path); err == nil {
			if file.Attachments == nil {
				file.Attachments = map[string][]byte{}
			}
			file.Attachments[path] = data
		}
	}
	for _, item := range n.Items() {
		attach(file, item, read)
	}
}
