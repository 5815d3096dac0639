// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// contentFrom is the argument of operations that names a file next to the profile. imageVector is the profile's
// field of that kind.
const (
	contentFrom = "contentFrom"
	imageVector = "imageVector"
)

// Attach adds to file the attachments that its documents name in contentFrom fields. read receives relative
// paths without "..". Unreadable attachments are reported when the profile is compiled.
func Attach(file source.File, read func(path string) ([]byte, error)) source.File {
	file.Attachments, file.Refused = nil, nil
	for _, path := range pathsIn(file) {
		data, err := read(path)
		switch {
		case err == nil && file.Attachments == nil:
			file.Attachments = map[string][]byte{path: data}
		case err == nil:
			file.Attachments[path] = data
		case errors.Is(err, fs.ErrNotExist):
		case file.Refused == nil:
			file.Refused = map[string]string{path: err.Error()}
		default:
			file.Refused[path] = err.Error()
		}
	}
	return file
}

// named caches the paths in files by the hash of their bytes, because pollers read the same files often and
// parsing is expensive.
var named struct {
	sync.Mutex
	paths map[[sha256.Size]byte][]string
}

// maxNamed limits the cache. Beyond it, the cache is cleared.
const maxNamed = 256

// pathsIn returns the paths that a file names.
func pathsIn(file source.File) []string {
	// Keys written with escapes or in UTF-16 are not supported.
	if !bytes.Contains(file.Data, []byte(contentFrom)) && !bytes.Contains(file.Data, []byte(imageVector)) {
		return nil
	}
	sum := sha256.Sum256(file.Data)
	named.Lock()
	defer named.Unlock()
	if paths, ok := named.paths[sum]; ok {
		return paths
	}
	nodes, _, _ := attempt([]source.File{file}, func(files []source.File) ([]source.Node, error) {
		nodes, _ := source.Parse(files[0])
		return nodes, nil
	}) // a panic is reported when the file is loaded
	var paths []string
	for _, node := range nodes {
		paths = appendPaths(paths, node)
		for _, field := range node.Fields() {
			if field.Key.Value == imageVector {
				paths = appendPath(paths, field.Value)
			}
		}
	}
	if named.paths == nil || len(named.paths) == maxNamed {
		named.paths = map[[sha256.Size]byte][]string{}
	}
	named.paths[sum] = paths
	return paths
}

func appendPaths(paths []string, n source.Node) []string {
	for _, field := range n.Fields() {
		if field.Key.Value == contentFrom && field.Value.Kind == yaml.ScalarNode {
			paths = appendPath(paths, field.Value)
		} else {
			paths = appendPaths(paths, field.Value)
		}
	}
	for _, item := range n.Items() {
		paths = appendPaths(paths, item)
	}
	return paths
}

func appendPath(paths []string, n source.Node) []string {
	if n.Node == nil || n.Kind != yaml.ScalarNode || !fs.ValidPath(n.Value) || n.Value == "." {
		return paths
	}
	return append(paths, n.Value)
}

// WithoutAttachments returns the files that no other file names. named returns the name of a path relative to a
// file.
func WithoutAttachments(files []source.File, named func(f source.File, path string) string) []source.File {
	attached := map[string]bool{}
	for _, f := range files {
		for path := range f.Attachments {
			if name := named(f, path); name != f.Name {
				attached[name] = true
			}
		}
	}
	return slices.DeleteFunc(files, func(f source.File) bool { return attached[f.Name] })
}
