// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Pair are manifests before and after a webhook, of one or several control planes.
type Pair struct {
	Name          string
	Before, After []manifest.Object
}

// Cases makes a case of each control-plane namespace in each pair. Clusters, Shoots, Gardens and Namespaces, in the pairs or among the
// known objects, say what is known of it.
func Cases(pairs []Pair, known []manifest.Object) ([]Case, error) {
	var cases []Case
	for _, pair := range pairs {
		all := slices.Concat(known, pair.Before, pair.After)
		namespaces := namespacesOf(slices.Concat(pair.Before, pair.After))
		for _, namespace := range namespaces {
			c := Case{Name: pair.Name, Before: passing(pair.Before, namespace), After: passing(pair.After, namespace)}
			version := versionOfObjects(c.Before)
			c.Name = cmp.Or(c.Name, version)
			switch {
			case len(namespaces) > 1 && len(pairs) > 1:
				c.Name += ", " + namespace
			case len(namespaces) > 1:
				c.Name = namespace
			case len(pairs) == 1:
				c.Name = ""
			}
			var err error
			if c.Facts, err = factsIn(all, namespace, version, len(namespaces)); err != nil {
				return nil, err
			}
			for _, o := range all {
				c.keep(o, namespace)
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// keep notes a Secret or ConfigMap.
func (c *Case) keep(o manifest.Object, namespace string) {
	secret := o.Is("", "Secret")
	if !secret && (o.Namespace != namespace || !o.Is("", "ConfigMap")) {
		return
	}
	object, err := decodeTree(o.JSON)
	switch {
	case err != nil:
	case o.Namespace == namespace:
		c.Present = append(c.Present, stored(object))
	default:
		c.Secrets = append(c.Secrets, object)
	}
}

// says are the kinds of objects that say what is known of a control plane, and pass no webhook.
func says(o manifest.Object) bool {
	return o.Is("extensions.gardener.cloud", "Cluster") || o.Is("operator.gardener.cloud", "Garden") || o.Is("", "Namespace") ||
		o.Is("core.gardener.cloud", "Shoot") || o.Is("core.gardener.cloud", "Seed") || o.Is("core.gardener.cloud", "CloudProfile")
}

// namespacesOf are the namespaces of the objects that pass webhooks, in their order.
func namespacesOf(objects []manifest.Object) []string {
	var all []string
	for _, o := range objects {
		if !says(o) && !slices.Contains(all, o.Namespace) {
			all = append(all, o.Namespace)
		}
	}
	return all
}

func passing(objects []manifest.Object, namespace string) []manifest.Object {
	var all []manifest.Object
	for _, o := range objects {
		if !says(o) && o.Namespace == namespace {
			all = append(all, o)
		}
	}
	return all
}

// factsIn are the facts that objects say of a namespace; nil where they say none. A Shoot alone is that of the only namespace. Where
// the images of the control plane are of another version than the Shoot, as for one of several pairs, the version is theirs.
func factsIn(objects []manifest.Object, namespace, version string, namespaces int) (*facts.Facts, error) {
	var (
		found *facts.Facts
		err   error
	)
	alone := namespaces == 1
	for _, o := range objects {
		switch {
		case isCluster(o, namespace, alone):
			found, err = facts.FromCluster(versioned(o.JSON, version, "spec", "shoot"))
		case o.Is("operator.gardener.cloud", "Garden") && namespace == target.GardenNamespace:
			found, err = facts.FromGarden(o.JSON)
		case found == nil && isShoot(o, namespace, alone):
			found, err = facts.FromClusterObjects(namespace, nil, nil, versioned(o.JSON, version))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Position, err)
		}
	}
	if found == nil {
		return nil, nil
	}
	about := facts.Namespace{Name: namespace}
	for _, o := range objects {
		if o.Is("", "Namespace") && o.Name == namespace {
			if parsed, err := decodeTree(o.JSON); err == nil {
				about.Labels, about.Annotations = textsAt(parsed, "labels"), textsAt(parsed, "annotations")
			}
		}
	}
	return found.WithNamespace(about), nil
}

// versioned is an object in which the Shoot at a path has the version, where one is given.
func versioned(raw []byte, version string, path ...string) []byte {
	parsed, err := decodeTree(raw)
	kubernetes := treeAt(parsed, append(path, "spec", "kubernetes")...)
	if err != nil || kubernetes == nil || version == "" {
		return raw
	}
	kubernetes["version"] = version
	return rawOf(parsed)
}

// versionOfObjects is the version of a control plane by its images; empty where they do not say it.
func versionOfObjects(objects []manifest.Object) string {
	for _, o := range objects {
		s, err := newSubject(&Case{}, o, o, Options{})
		if err != nil || !s.target.Versioned {
			continue
		}
		if version := s.imageVersion(); version != "" {
			return version
		}
	}
	return ""
}

// isCluster says whether an object is the Cluster of a namespace; alone says that it is the only namespace.
func isCluster(o manifest.Object, namespace string, alone bool) bool {
	return o.Is("extensions.gardener.cloud", "Cluster") && (o.Name == namespace || alone && namespace == "")
}

// isShoot says whether an object is the Shoot of a namespace.
func isShoot(o manifest.Object, namespace string, alone bool) bool {
	return o.Is("core.gardener.cloud", "Shoot") && (technicalID(o) == namespace || alone && technicalID(o) == "")
}

func technicalID(o manifest.Object) string {
	parsed, err := decodeTree(o.JSON)
	if err != nil {
		return ""
	}
	return textAt(parsed, "status", "technicalID")
}

// textsAt are labels or annotations.
func textsAt(t tree, field string) map[string]string {
	out := map[string]string{}
	for key := range treeAt(t, "metadata", field) {
		out[key] = textAt(t, "metadata", field, key)
	}
	return out
}

// ProviderOf is the provider that the facts of the cases name; empty where they name none, or several.
func ProviderOf(cases []Case) string {
	provider := ""
	for _, c := range cases {
		if c.Facts == nil || c.Facts.Shoot == nil {
			continue
		}
		if is := c.Facts.Shoot.Provider; provider == "" || provider == is {
			provider = is
		} else {
			return ""
		}
	}
	return provider
}
