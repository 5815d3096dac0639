// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package samples helps tests with the control planes of pkg/controlplane/sample.
package samples

import (
	"encoding/json"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// Find returns the object of a kind and name, and false if there is none.
func Find(objects []sample.Object, kind, name string) (sample.Object, bool) {
	i := slices.IndexFunc(objects, func(o sample.Object) bool {
		return o.Object.GetObjectKind().GroupVersionKind().Kind == kind && o.Object.GetName() == name
	})
	if i < 0 {
		return sample.Object{}, false
	}
	return objects[i], true
}

// Facts returns the facts about the shoot from its Cluster and namespace.
func Facts(o sample.Options) (*facts.Facts, error) {
	cluster, err := sample.Cluster(o)
	if err != nil {
		return nil, err
	}
	namespace, err := sample.Namespace(o)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(cluster)
	if err != nil {
		return nil, err
	}
	found, err := facts.FromCluster(raw)
	if err != nil {
		return nil, err
	}
	return found.WithNamespace(facts.Namespace{
		Name: namespace.Name, Labels: namespace.Labels, Annotations: namespace.Annotations,
	}), nil
}
