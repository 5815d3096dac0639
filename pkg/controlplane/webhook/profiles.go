// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ProfileLabel marks, with the value "true", the ConfigMaps of the own namespace that hold profiles.
const ProfileLabel = "graft.provider.extensions.gardener.cloud/profile"

// ProfileReader finds files of profiles. It returns them in a stable order.
type ProfileReader interface {
	Read(context.Context) ([]source.File, error)
}

// Paths reads files, and the *.yaml and *.yml files of folders (not of folders in them). What a profile names as a file beside
// it, such as its image vector, is no profile.
type Paths []string

// Read reads all files now. A path that does not exist is an error; an empty folder is not.
func (p Paths) Read(context.Context) ([]source.File, error) {
	var files []source.File
	for _, path := range p {
		names, err := profileFiles(path)
		if err != nil {
			return nil, fmt.Errorf("finding profiles: %w", err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("reading a profile: %w", err)
			}
			beside := os.DirFS(filepath.Dir(name))
			files = append(files, profile.Attach(source.File{Name: name, Data: data}, func(path string) ([]byte, error) {
				return fs.ReadFile(beside, path)
			}))
		}
	}
	return withoutAttachments(files, func(f source.File, path string) string {
		return filepath.Join(filepath.Dir(f.Name), filepath.FromSlash(path))
	}), nil
}

// withoutAttachments leaves out the files that are named by another one; named is the name of a file beside the given one.
func withoutAttachments(files []source.File, named func(f source.File, path string) string) []source.File {
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

// profileFiles are the files at a path. Entries that begin with a dot are left out: the kubelet keeps the versions of a
// mounted ConfigMap in such.
func profileFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && isYAML(entry.Name()) {
			names = append(names, filepath.Join(path, entry.Name()))
		}
	}
	return names, nil
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// ConfigMaps reads the keys that end in .yaml or .yml of the labelled ConfigMaps of a namespace. A file beside the profile is
// another key: its path, with _ in place of each slash, which a key cannot have.
type ConfigMaps struct {
	Reader    client.Reader
	Namespace string
}

// Read lists the ConfigMaps. Findings name their files configmap/<namespace>/<name>/<key>.
func (c ConfigMaps) Read(ctx context.Context) ([]source.File, error) {
	list := &corev1.ConfigMapList{}
	if err := c.Reader.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels{ProfileLabel: "true"}); err != nil {
		return nil, fmt.Errorf("listing ConfigMaps with profiles: %w", err)
	}
	var files []source.File
	for i := range list.Items {
		for key, data := range list.Items[i].Data {
			if isYAML(key) {
				name := strings.Join([]string{"configmap", c.Namespace, list.Items[i].Name, key}, "/")
				files = append(files, profile.Attach(source.File{Name: name, Data: []byte(data)}, fromKeys(list.Items[i].Data)))
			}
		}
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return withoutAttachments(files, func(f source.File, name string) string {
		return f.Name[:strings.LastIndex(f.Name, "/")+1] + keyOf(name)
	}), nil
}

// keyOf is the key of a ConfigMap that holds a file beside a profile.
func keyOf(path string) string { return strings.ReplaceAll(path, "/", "_") }

// fromKeys reads the files beside a profile from the ConfigMap that holds it.
func fromKeys(data map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, ok := data[keyOf(path)]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}
}
