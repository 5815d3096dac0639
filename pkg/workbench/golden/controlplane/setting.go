// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// setting is a setting as it is after those below it were taken into account.
type setting v1alpha1.TestSetting

// ownFields are the fields of a case that belong to no setting.
var ownFields = []string{"name", "description", "for", "expect", "golden"}

// mergedFields are fields of settings that are merged and not replaced; true where a null stays, as it means something there.
var mergedFields = map[string]bool{"annotations": false, "parameters": false, "shoot": true, "cloudProfile": true, "seed": true}

// layer puts settings above each other, the last one on top.
func layer(layers ...source.Node) setting {
	top := layers[len(layers)-1]
	merged := source.Node{Node: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, File: top.File}
	if top.Node != nil {
		merged.Line, merged.Column = top.Line, top.Column
	}
	for _, one := range layers {
		for _, field := range one.Fields() {
			if !slices.Contains(ownFields, field.Key.Value) {
				keepNull, merges := mergedFields[field.Key.Value]
				put(merged.Node, field, merges, keepNull)
			}
		}
	}
	var s setting
	_ = source.Decode(merged, "", (*v1alpha1.TestSetting)(&s)) // each layer was decoded already
	return s
}

// put sets a member of a mapping, or merges its members into those that are there. A null takes it away unless it is kept.
func put(into *yaml.Node, field source.Field, merges, keepNull bool) {
	at := -1
	for i := 0; i < len(into.Content); i += 2 {
		if into.Content[i].Value == field.Key.Value {
			at = i
		}
	}
	switch {
	case field.Value.Absent() && !keepNull:
		if at >= 0 {
			into.Content = slices.Delete(slices.Clone(into.Content), at, at+2)
		}
	case at < 0 && !merges || at < 0 && field.Value.Kind != yaml.MappingNode:
		into.Content = append(into.Content, field.Key.Node, field.Value.Node)
	case at >= 0 && (!merges || field.Value.Kind != yaml.MappingNode || into.Content[at+1].Kind != yaml.MappingNode):
		into.Content = slices.Clone(into.Content)
		into.Content[at+1] = field.Value.Node
	default:
		merged := *field.Value.Node
		merged.Content = nil
		if at >= 0 {
			merged.Content = slices.Clone(into.Content[at+1].Content)
			into.Content = slices.Clone(into.Content)
			into.Content[at+1] = &merged
		} else {
			into.Content = append(into.Content, field.Key.Node, &merged)
		}
		for _, inner := range field.Value.Fields() {
			put(&merged, inner, true, keepNull)
		}
	}
}

// generation returns the generation of Gardener.
func (s *setting) generation() contract.Generation {
	if s.Legacy {
		return contract.Labelled
	}
	return contract.Today
}

// versions returns the versions of Kubernetes; constraints select from the given ones. A single empty version means the
// newest.
func (s *setting) versions(among []string) ([]string, source.Findings) {
	var (
		versions []string
		findings source.Findings
	)
	for _, entry := range s.Kubernetes {
		if _, err := semver.StrictNewVersion(entry.Value); err == nil {
			versions = append(versions, entry.Value)
			continue
		}
		constraint, err := semver.NewConstraint(entry.Value)
		if err != nil {
			findings = append(findings, entry.At.Finding("kubernetes", "%q is neither a version, such as 1.34.2, nor a constraint, such as \"< 1.34\"", entry.Value))
			continue
		}
		chosen := slices.DeleteFunc(slices.Clone(among), func(version string) bool {
			parsed, err := semver.NewVersion(version)
			return err != nil || !constraint.Check(parsed)
		})
		if len(chosen) == 0 {
			findings = append(findings, entry.At.Finding("kubernetes", "%q chooses none of the versions in defaults.kubernetes %v", entry.Value, among))
		}
		versions = append(versions, chosen...)
	}
	if len(versions) == 0 && len(findings) == 0 {
		versions = []string{""}
	}
	return versions, findings
}

// options returns the options of the generated objects for a version.
func (s *setting) options(version string) (scene.Options, source.Findings) {
	o := scene.Options{
		Kubernetes: version, HighAvailability: s.HighAvailability, IPv6: s.IPv6, Hibernated: s.Hibernated, Workerless: s.Workerless,
		Garden: s.Garden, Legacy: s.Legacy, SNI: s.SNI, Provider: s.Provider, SeedProvider: s.SeedProvider, BackupProvider: s.BackupProvider,
		Annotations: s.Annotations,
	}
	var findings source.Findings
	for _, part := range []struct {
		name string
		from source.Node
		into *json.RawMessage
	}{
		{"infrastructureConfig", s.InfrastructureConfig, &o.InfrastructureConfig}, {"controlPlaneConfig", s.ControlPlaneConfig, &o.ControlPlaneConfig},
		{"workerConfig", s.WorkerConfig, &o.WorkerConfig}, {"cloudProfileConfig", s.CloudProfileConfig, &o.CloudProfileConfig},
		{"seedConfig", s.SeedConfig, &o.SeedConfig}, {"shoot", s.Shoot, &o.Shoot}, {"cloudProfile", s.CloudProfile, &o.CloudProfile},
		{"seed", s.Seed, &o.Seed},
	} {
		if part.from.Absent() {
			continue
		}
		if part.from.Kind != yaml.MappingNode {
			findings = append(findings, part.from.Finding(part.name, "must be a mapping"))
			continue
		}
		raw, err := json.Marshal(comparison.Plain(part.from))
		*part.into, findings = raw, append(findings, source.FindingsOf(part.from, part.name, err)...)
	}
	return o, findings
}

// objects returns the objects in nodes.
func objects(nodes []source.Node, path string) ([]manifest.Object, source.Findings) {
	var (
		all      []manifest.Object
		findings source.Findings
	)
	for i, node := range nodes {
		raw, err := json.Marshal(comparison.Plain(node))
		if err == nil {
			var object manifest.Object
			if object, err = manifest.New(raw, node.Position()); err == nil {
				all = append(all, object)
				continue
			}
		}
		findings = append(findings, node.Finding(fmt.Sprintf("%s[%d]", path, i), "%s", err))
	}
	return all, findings
}

func plainValues(nodes map[string]source.Node) map[string]any {
	values := map[string]any{}
	for name, node := range nodes {
		values[name] = comparison.Plain(node)
	}
	return values
}
