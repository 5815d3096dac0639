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

// contentFrom is the field by which an argument of an operation names a file beside the profile, and imageVector that of the
// profile itself.
const (
	contentFrom = "contentFrom"
	imageVector = "imageVector"
)

// Attach gives the file the attachments that its documents name in contentFrom fields. read gets a path that has no .. and
// does not begin with a slash; what it cannot read is left out, and found when the profile is compiled.
func Attach(file source.File, read func(path string) ([]byte, error)) source.File {
	file.Attachments = nil
	// Readers poll, and parsing is most of the work; a key that is written with escapes or in UTF-16 is none that anybody writes.
	if !bytes.Contains(file.Data, []byte(contentFrom)) && !bytes.Contains(file.Data, []byte(imageVector)) {
		return file
	}
	nodes, _ := source.Parse(file)
	for _, node := range nodes {
		attach(&file, node, read)
		for _, field := range node.Fields() {
			if field.Key.Value == imageVector {
				attachFile(&file, field.Value, read)
			}
		}
	}
	return file
}

func attach(file *source.File, n source.Node, read func(path string) ([]byte, error)) {
	for _, field := range n.Fields() {
		if field.Key.Value != contentFrom || field.Value.Kind != yaml.ScalarNode {
			attach(file, field.Value, read)
			continue
		}
		attachFile(file, field.Value, read)
	}
	for _, item := range n.Items() {
		attach(file, item, read)
	}
}

// attachFile reads the file of which the node is the path.
func attachFile(file *source.File, n source.Node, read func(path string) ([]byte, error)) {
	if n.Node == nil || n.Kind != yaml.ScalarNode || !fs.ValidPath(n.Value) || n.Value == "." {
		return
	}
	if data, err := read(n.Value); err == nil {
		if file.Attachments == nil {
			file.Attachments = map[string][]byte{}
		}
		file.Attachments[n.Value] = data
	}
}
