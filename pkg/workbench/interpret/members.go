// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// member is what a file says of a cluster.
type member struct {
	Status json.RawMessage `json:"status"`
	// Applied is true where nothing is said.
	Applied *bool  `json:"applied"`
	Message string `json:"message"`
	Health  string `json:"health"`
}

// ParseMembers reads a mapping of clusters to what they say of an object: status, applied, message and health. They come by the names of the clusters.
// There may be none.
func ParseMembers(data []byte) ([]interpreter.Member, error) {
	said := map[string]member{}
	if err := yaml.UnmarshalStrict(data, &said); err != nil {
		return nil, fmt.Errorf("must be a mapping of clusters to status, applied, message and health: %w", err)
	}
	members := make([]interpreter.Member, 0, len(said))
	for _, cluster := range slices.Sorted(maps.Keys(said)) {
		m := said[cluster]
		if cluster == "" {
			return nil, fmt.Errorf("a cluster must have a name")
		}
		if !slices.Contains([]string{"", "Healthy", "Unhealthy", "Unknown"}, m.Health) {
			return nil, fmt.Errorf("%s: health must be Healthy, Unhealthy or Unknown", cluster)
		}
		status := bytes.TrimSpace(m.Status)
		if string(status) == "null" {
			status = nil
		}
		if len(status) > 0 && status[0] != '{' {
			return nil, fmt.Errorf("%s: status must be a mapping", cluster)
		}
		members = append(members, interpreter.Member{
			Cluster: cluster, Status: status, Applied: m.Applied == nil || *m.Applied, Message: m.Message, Health: m.Health,
		})
	}
	return members, nil
}
