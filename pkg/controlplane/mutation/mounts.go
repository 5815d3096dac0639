// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// samplePods are what the pods of each target have in any of the samples.
var samplePods = sync.OnceValue(func() map[string]podParts {
	parts := map[string]podParts{}
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			parsed, err := document.Parse(raw)
			if err != nil {
				continue
			}
			request := requestFor(parsed.Root(), plane.Garden)
			if t, _ := target.Match(plane.Garden, request.Group, request.Kind, request.Name); t != nil {
				if parts[t.Name].volumes == nil {
					parts[t.Name] = podParts{volumes: map[string]bool{}, containers: map[string]bool{}}
				}
				parts[t.Name].add(parsed.Root().Get("spec"))
			}
			parsed.Release()
		}
	}
	return parts
})

// podParts are the names of volumes and of containers of both kinds.
type podParts struct{ volumes, containers map[string]bool }

func (p podParts) add(spec *document.Node) {
	pod := spec.Find("template", "spec")
	for _, volume := range pod.Get("volumes").Items() {
		p.volumes[text(volume.Get("name"))] = true
	}
	for _, claim := range spec.Get("volumeClaimTemplates").Items() {
		p.volumes[text(claim.Find("metadata", "name"))] = true
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range pod.Get(list).Items() {
			p.containers[text(container.Get("name"))] = true
		}
	}
}

// nowhere finds mounts of volumes, and containers without an image, that no rule brings and no sample has. Another version of Gardener may have them.
func (r *rule) nowhere(all []*rule) source.Findings {
	if r.family != nil || r.target.Other {
		return nil
	}
	var findings source.Findings
	for i := range r.writes {
		write := &r.writes[i]
		write.Mounts(func(volume string, at source.Node, path string) {
			if !samplePods()[r.target.Name].volumes[volume] && !brought(all, volume) {
				findings = append(findings, at.Finding(path, "no volume %s is known: neither does a rule bring it, nor does %s have it in the samples",
					volume, r.target.Name).Of(UnknownVolume).Warn())
			}
		})
		if kind := write.Place.Kind; kind != operation.Container && kind != operation.InitContainer || removes(write) {
			continue
		}
		container := write.Place.Name
		bringing := func(by *rule) bool { return by.family != nil || by.brings(container) }
		if !samplePods()[r.target.Name].containers[container] && !slices.ContainsFunc(all, bringing) {
			findings = append(findings, write.At.Finding(write.Path,
				"has no image, and no container %s is known that it could be for: neither does a rule bring it, nor does %s have it in the samples",
				container, r.target.Name).Of(UnknownContainer).Warn())
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
