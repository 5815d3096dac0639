// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"io/fs"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ConfigMapPrefix starts the names of files from ConfigMaps.
const ConfigMapPrefix = "configmap"

// FromConfigMap returns the files of profiles in a ConfigMap: the keys that end in .yaml or .yml, named
// configmap/<namespace>/<name>/<key>. A file that a profile names is another key (see KeyOf).
func FromConfigMap(namespace, name string, data map[string]string) []source.File {
	folder := strings.Join([]string{ConfigMapPrefix, namespace, name, ""}, "/")
	var files []source.File
	for key, text := range data {
		if IsYAML(key) {
			files = append(files, profile.Attach(source.File{Name: folder + key, Data: []byte(text)}, func(path string) ([]byte, error) {
				attachment, ok := data[KeyOf(path)]
				if !ok {
					return nil, fs.ErrNotExist
				}
				return []byte(attachment), nil
			}))
		}
	}
	return profile.WithoutAttachments(files, func(_ source.File, path string) string { return folder + KeyOf(path) })
}

// KeyOf returns the key of a ConfigMap for a file that a profile names: its path with _ instead of slashes, which a key
// cannot contain.
func KeyOf(path string) string { return strings.ReplaceAll(path, "/", "_") }
