// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ProfileLabel marks, with the value "true", the ConfigMaps in the program's namespace with profiles.
const ProfileLabel = "graft.provider.extensions.gardener.cloud/profile"

// ProfileReader returns files of profiles in a stable order. It fails if its source is unreadable.
type ProfileReader interface {
	Read(context.Context) ([]source.File, error)
}

// Paths reads the files and folders of profiles at these paths, as folder.Read does.
type Paths []string

// Read reads all files. If a path cannot be read, it returns the remaining files with Unreadable.
func (p Paths) Read(context.Context) ([]source.File, error) {
	files, err := folder.Read(p...)
	if err == nil {
		return files, nil
	}
	unreadable := Unreadable{}
	files = nil
	for _, path := range p {
		found, err := folder.Read(path)
		if err != nil {
			unreadable[path] = err
		}
		files = append(files, found...)
	}
	return files, unreadable
}

// Ignored returns the ignored files, which contain no profiles.
func (p Paths) Ignored() []string {
	left, err := folder.Ignored(p...)
	if err != nil {
		return nil
	}
	return left
}

// ConfigMaps reads the profiles in the labelled ConfigMaps of a namespace, as folder.FromConfigMap does.
type ConfigMaps struct {
	Reader    client.Reader
	Namespace string
}

// Read lists the ConfigMaps. Findings name their files configmap/<namespace>/<name>/<key>. It fails if they cannot be
// listed.
func (c ConfigMaps) Read(ctx context.Context) ([]source.File, error) {
	list := &corev1.ConfigMapList{}
	if err := c.Reader.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels{ProfileLabel: "true"}); err != nil {
		return nil, fmt.Errorf("listing ConfigMaps with profiles: %w", err)
	}
	var files []source.File
	for _, item := range list.Items {
		files = append(files, folder.FromConfigMap(item.Namespace, item.Name, item.Data)...)
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
