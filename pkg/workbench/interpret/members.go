// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpret

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
)

// ParseMembers parses a mapping of clusters to an object's state in them: status, applied, message and health, as in
// tests. It sorts them by the names of the clusters. The mapping may be empty. The error is source.Findings.
func ParseMembers(file source.File) ([]interpreter.Member, error) {
	nodes, findings := source.Parse(file)
	if len(findings) > 0 {
		return nil, findings
	}
	if len(nodes) == 0 {
		return []interpreter.Member{}, nil
	}
	if len(nodes) > 1 {
		return nil, source.Findings{nodes[1].Finding("", "a second document: what members say is one mapping")}
	}
	root := nodes[0]
	if root.Kind != yaml.MappingNode && !root.Absent() {
		return nil, source.Findings{root.Finding("", "must be a mapping of clusters to status, applied, message and health")}
	}
	said := map[string]v1alpha1.InterpreterTestMember{}
	findings = source.Decode(root, "", &said)
	members := make([]interpreter.Member, 0, len(said))
	for _, cluster := range slices.Sorted(maps.Keys(said)) {
		m, at := said[cluster], root.Get(cluster)
		if cluster == "" {
			findings = append(findings, at.Finding("", "a cluster must have a name"))
		}
		member := interpreter.Member{Cluster: cluster, Applied: m.Applied == nil || *m.Applied, Message: m.Message, Health: m.Health}
		switch status := at.Get("status"); {
		case status.Absent():
		case status.Kind != yaml.MappingNode:
			findings = append(findings, status.Finding(cluster+".status", "must be a mapping"))
		default:
			raw, err := comparison.JSON(status)
			findings = append(findings, source.FindingsOf(status, cluster+".status", err)...)
			member.Status = raw
		}
		members = append(members, member)
	}
	if len(findings) > 0 {
		findings.Sort()
		return nil, findings
	}
	return members, nil
}
