// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// objects holds the objects of a table by name, and its folder with files.
type objects struct {
	folder string
	named  source.Node
	made   map[string][]byte
	// making are the names that are on their way to an object.
	making []string
}

// fromField is the field of an object that names another one to start from.
const fromField = "from"

// object returns the object of a node: the name of an object, the path of a file, an object based on another one, or an
// object.
func (o *objects) object(n source.Node, path string) (manifest.Object, source.Findings) {
	raw, findings := o.raw(n, path)
	if len(findings) > 0 {
		return manifest.Object{}, findings
	}
	object, err := manifest.New(raw, n.Position())
	if err != nil {
		return manifest.Object{}, source.Findings{n.Finding(path, "%s", err)}
	}
	return object, nil
}

func (o *objects) raw(n source.Node, path string) ([]byte, source.Findings) {
	switch {
	case n.Absent():
		return nil, source.Findings{n.Finding(path, "is missing")}
	case n.Kind == yaml.ScalarNode:
		return o.called(n, path)
	case n.Kind != yaml.MappingNode:
		return nil, source.Findings{n.Finding(path, "must be an object, the name of one of objects, or the path of a file")}
	}
	from := n.Get(fromField)
	if from.Node == nil {
		raw, err := comparison.JSON(n)
		return raw, source.FindingsOf(n, path, err)
	}
	base, findings := o.called(from, path+"."+fromField)
	if len(findings) > 0 {
		return nil, findings
	}
	own := *n.Node
	own.Content = nil
	for _, field := range n.Fields() {
		if field.Key.Value != fromField {
			own.Content = append(own.Content, field.Key.Node, field.Value.Node)
		}
	}
	raw, err := comparison.JSON(source.Node{Node: &own, File: n.File})
	if err == nil {
		raw, err = jsonpatch.MergePatch(base, raw)
	}
	return raw, source.FindingsOf(n, path, err)
}

// called returns the object with a name, or in a file.
func (o *objects) called(n source.Node, path string) ([]byte, source.Findings) {
	name := n.Value
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return nil, source.Findings{n.Finding(path, "must be the name of one of objects, or the path of a file")}
	}
	if known := o.made[name]; known != nil {
		return known, nil
	}
	if !o.named.Has(name) {
		return o.file(n, path)
	}
	if slices.Contains(o.making, name) {
		return nil, source.Findings{n.Finding(path, "is like itself: %s", strings.Join(append(o.making, name), " → "))}
	}
	o.making = append(o.making, name)
	defer func() { o.making = o.making[:len(o.making)-1] }()
	raw, findings := o.raw(o.named.Get(name), "objects."+name)
	if len(findings) == 0 {
		o.made[name] = raw
	}
	return raw, findings
}

// file returns the single object of a file.
func (o *objects) file(n source.Node, path string) ([]byte, source.Findings) {
	name := filepath.Join(o.folder, filepath.FromSlash(n.Value))
	found, err := manifest.ReadWith(name, golden.Read)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var known []string
		for _, field := range o.named.Fields() {
			known = append(known, field.Key.Value)
		}
		return nil, source.Findings{n.Finding(path, "there is neither an object %q%s nor such a file", n.Value, source.Suggest(n.Value, known))}
	case err != nil:
		return nil, source.FindingsOf(n, path, err)
	case len(found) != 1:
		return nil, source.Findings{n.Finding(path, "%s has %d objects, and must have one", n.Value, len(found))}
	}
	return found[0].JSON, nil
}
