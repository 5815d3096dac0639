// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// minorOf is the minor version of a version of Kubernetes; false for what is none.
func minorOf(version string) (int, bool) {
	parsed, err := semver.StrictNewVersion(version)
	if err != nil || parsed.Major() != 1 {
		return 0, false
	}
	return int(parsed.Minor()), true
}

// factsOf are the facts of a case of which nothing is known but its objects: the version, the namespace and the worker pools.
// Rules need some to be tried out at all.
func factsOf(first *subject, subjects []*subject, o Options) *facts.Facts {
	version := cmp.Or(versionOfCase(first.from, subjects), newest())
	if first.garden {
		return orNil(facts.FromGarden(rawOf(tree{
			"apiVersion": "operator.gardener.cloud/v1alpha1", "kind": "Garden", "metadata": tree{"name": "garden"},
			"spec": tree{"virtualCluster": tree{"kubernetes": tree{"version": version}}},
		})))
	}
	project, name := projectAndName(first.object.Namespace)
	workers := []any{}
	for _, s := range subjects {
		known := slices.ContainsFunc(workers, func(w any) bool { return textAt(w, "name") == s.pool })
		if s.from == first.from && s.pool != "" && !known {
			workers = append(workers, tree{"name": s.pool, "kubernetes": tree{"version": cmp.Or(s.imageVersion(), version)}})
		}
	}
	shoot := rawOf(tree{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
		"metadata": tree{"name": name, "namespace": "garden-" + project},
		"spec":     tree{"kubernetes": tree{"version": version}, "provider": tree{"type": o.Provider, "workers": workers}},
		"status":   tree{"technicalID": first.object.Namespace},
	})
	return orNil(facts.FromClusterObjects(first.object.Namespace, nil, nil, shoot))
}

// orNil gives no facts where they cannot be made.
func orNil(f *facts.Facts, err error) *facts.Facts {
	if err != nil {
		return nil
	}
	return f
}

// newest is the newest version that the table of flags knows.
func newest() string {
	versions := kubeflags.Versions()
	return versions[len(versions)-1].String() + ".0"
}

// projectAndName are those of a shoot, by the name of its namespace in the seed: shoot--project--name.
func projectAndName(namespace string) (project, name string) {
	parts := strings.SplitN(strings.TrimPrefix(namespace, "shoot--"), "--", 2)
	if len(parts) < 2 {
		return "unknown", cmp.Or(namespace, "unknown")
	}
	return parts[0], parts[1]
}

// source are the facts for an object, in whose namespace all sets are those of the provider.
func (s *subject) source(provider string) facts.Source {
	if s.known == nil {
		return &facts.Static{}
	}
	labels := map[string]string{}
	for _, set := range target.Sets() {
		labels[set.NamespaceLabel()] = provider
	}
	namespace := s.known.Namespace
	if len(namespace.Labels) == 0 {
		namespace.Labels = labels
	}
	return &facts.Static{Facts: s.known.WithNamespace(namespace), Objects: s.from.Present}
}

// fact is a text that stands for something that is known of a control plane.
type fact struct {
	text, expression string
	// words says that the text is a name, which may be part of another one.
	words bool
	// anywhere says that it may be part of any text.
	anywhere bool
}

// facts are the texts that an expression may say, the longest first.
func (s *subject) facts() []fact {
	var all []fact
	add := func(text, expression string, least int, words bool) {
		if len(text) >= least && s.secrets.holding(text) == nil {
			all = append(all, fact{text: text, expression: expression, words: words})
		}
	}
	add(s.object.Namespace, "object.namespace", 6, true)
	if s.guessed || s.known == nil {
		return all
	}
	if shoot := s.known.Shoot; shoot != nil {
		if strings.ContainsAny(shoot.Region, "0123456789-") {
			add(shoot.Region, "shoot.region", 4, false)
		}
		add(shoot.Name, "shoot.name", 4, true)
		add(shoot.UID, "shoot.uid", 8, true)
		add(shoot.Networking.Nodes, "shoot.networking.nodes", 5, true)
		add(shoot.Networking.Pods, "shoot.networking.pods", 5, true)
		add(shoot.Networking.Services, "shoot.networking.services", 5, true)
		add(shoot.Kubernetes, "shoot.kubernetes", 5, true)
		if domain, ok := shoot.Manifest.In("dns", "domain").(string); ok {
			add(domain, "shoot.spec.dns.domain", 4, true)
		}
	}
	if s.pool != "" {
		add(s.pool, "pool.name", 4, true)
	}
	if seed, err := s.known.Seed.Get(); err == nil && seed != nil && strings.ContainsAny(seed.Region, "0123456789-") {
		add(seed.Region, "seed.region", 4, false)
	}
	slices.SortStableFunc(all, func(a, b fact) int { return len(b.text) - len(a.text) })
	return all
}

// scalarText is a scalar as text.
func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	default:
		return fmt.Sprint(value)
	}
}
