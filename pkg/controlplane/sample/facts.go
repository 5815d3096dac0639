// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/json"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// Facts returns the facts about the shoot from its Cluster and namespace. The error wraps ErrOptions for invalid
// options.
func Facts(o Options) (*facts.Facts, error) {
	cluster, err := Cluster(o)
	if err != nil {
		return nil, err
	}
	namespace, err := Namespace(o)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(cluster)
	if err != nil {
		return nil, fmt.Errorf("encoding the Cluster: %w", err)
	}
	found, err := facts.FromCluster(raw)
	if err != nil {
		return nil, err
	}
	return found.WithNamespace(facts.Namespace{Name: namespace.Name, Labels: namespace.Labels, Annotations: namespace.Annotations}), nil
}
