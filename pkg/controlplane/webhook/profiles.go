// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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

// Read reads all files. It never fails: a path that cannot be read is a file with a Problem.
func (p Paths) Read(context.Context) ([]source.File, error) {
	files, err := folder.Read(p...)
	if err == nil {
		return files, nil
	}
	files = nil
	for _, path := range p {
		found, err := folder.Read(path)
		if err != nil {
			found = []source.File{{Name: path, Problem: err.Error()}}
		}
		files = append(files, found...)
	}
	return files, nil
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
	// Reader is a cache, and Direct reads from the API server before the cache is started.
	Reader, Direct client.Reader
	Namespace      string
}

// listTimeout limits the listing of ConfigMaps. The cache waits while the program may not list or watch them, and
// profiles in files are not reloaded in this time.
const listTimeout = 10 * time.Second

// Read lists the ConfigMaps. Findings name their files configmap/<namespace>/<name>/<key>. It fails if they cannot be
// listed in time.
func (c ConfigMaps) Read(ctx context.Context) ([]source.File, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list := &corev1.ConfigMapList{}
	options := []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabels{ProfileLabel: "true"}}
	err := c.Reader.List(ctx, list, options...)
	if _, notStarted := errors.AsType[*cache.ErrCacheNotStarted](err); notStarted {
		err = c.Direct.List(ctx, list, options...)
	}
	if err != nil {
		return nil, fmt.Errorf("listing ConfigMaps with profiles: %w", err)
	}
	var files []source.File
	for _, item := range list.Items {
		files = append(files, folder.FromConfigMap(item.Namespace, item.Name, item.Data)...)
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}
