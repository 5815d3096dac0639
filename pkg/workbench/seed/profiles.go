// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// profileLabel marks the ConfigMaps that hold profiles (pkg/controlplane/webhook/profiles.go, ProfileLabel).
const profileLabel = "graft.provider.extensions.gardener.cloud/profile=true"

// Profiles returns the files in the ConfigMaps of all namespaces with the label of profiles, as installed by the chart.
// A file of a profile has another key: its path with _ instead of slashes. Files are named
// configmap/<namespace>/<name>/<key>.
func (s *Seed) Profiles(ctx context.Context) ([]source.File, error) {
	configMaps := resource{GroupVersion: schema.GroupVersion{Version: "v1"}, plural: "configmaps"}
	var files []source.File
	err := s.list(ctx, configMaps, profileLabel, func(raw json.RawMessage) error {
		var found struct {
			Metadata struct{ Namespace, Name string }
			Data     map[string]string
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			return fmt.Errorf("decoding a ConfigMap: %w", err)
		}
		for key, text := range found.Data {
			if !folder.IsYAML(key) {
				continue
			}
			name := strings.Join([]string{"configmap", found.Metadata.Namespace, found.Metadata.Name, key}, "/")
			files = append(files, profile.Attach(source.File{Name: name, Data: []byte(text)}, func(path string) ([]byte, error) {
				beside, ok := found.Data[keyOf(path)]
				if !ok {
					return nil, fs.ErrNotExist
				}
				return []byte(beside), nil
			}))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing ConfigMaps with profiles: %w", err)
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return profile.WithoutAttachments(files, func(f source.File, path string) string {
		return f.Name[:strings.LastIndex(f.Name, "/")+1] + keyOf(path)
	}), nil
}

// keyOf returns the ConfigMap key for a file of a profile.
func keyOf(path string) string { return strings.ReplaceAll(path, "/", "_") }
