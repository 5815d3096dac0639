// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// sampleVolumes are the volumes in the pods of each target, in any of the samples.
var sampleVolumes = sync.OnceValue(func() map[string]map[string]bool {
	volumes := map[string]map[string]bool{}
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			parsed, err := document.Parse(raw)
			if err != nil {
				continue
			}
			request := requestFor(parsed.Root(), plane.Garden)
			if t, _ := target.Match(plane.Garden, request.Group, request.Kind, request.Name); t != nil {
				if volumes[t.Name] == nil {
					volumes[t.Name] = map[string]bool{}
				}
				addVolumes(volumes[t.Name], parsed.Root().Get("spec"))
			}
			parsed.Release()
		}
	}
	return volumes
})

func addVolumes(to map[string]bool, spec *document.Node) {
	for _, volume := range spec.Find("template", "spec", "volumes").Items() {
		to[text(volume.Get("name"))] = true
	}
	for _, claim := range spec.Get("volumeClaimTemplates").Items() {
		to[text(claim.Find("metadata", "name"))] = true
	}
}

// nowhere finds mounts of volumes that no rule brings and no sample has. Another version of Gardener may have them.
func (r *rule) nowhere(all []*rule) source.Findings {
	if r.family != nil || r.target.Other {
		return nil
	}
	var findings source.Findings
	for _, write := range r.writes {
		if write.Place.Kind != operation.VolumeMount || removes(&write) {
			continue
		}
		if name := write.Place.Name; !sampleVolumes()[r.target.Name][name] && !brought(all, name) {
			findings = append(findings, write.At.Finding(write.Path, "no volume %s is known: neither does a rule bring it, nor does %s have it in the samples",
				name, r.target.Name).Of(UnknownVolume).Warn())
		}
	}
	return findings
}

// brought says whether a rule may bring a volume of a name.
func brought(rules []*rule, name string) bool {
	for _, r := range rules {
		for i := range r.writes {
			if write := &r.writes[i]; write.Place.Kind == operation.Volume && !removes(write) && (write.Place.Name == name || r.family != nil) {
				return true
			}
		}
	}
	return false
}
