// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// subject is one object before and after.
type subject struct {
	object        manifest.Object
	before, after tree
	target        *target.Target
	form          *target.Form
	garden        bool
	// secret reports that the data of a Secret differs.
	secret bool
	// version is the version of Kubernetes of the object's image, or empty.
	version string
	// purpose and pool are those of an OperatingSystemConfig.
	purpose, pool string
}

// String returns kind, namespace and name of the object.
func (s *subject) String() string { return s.object.String() }

// match pairs objects by kind, namespace and name. The second result lists unpaired and unreadable objects.
func match(before, after []manifest.Object) (subjects []*subject, missed []string) {
	identity := func(o manifest.Object) string {
		return strings.Join([]string{o.Group(), o.Kind, o.Namespace, o.Name}, "/")
	}
	wanted := map[string]manifest.Object{}
	for _, o := range after {
		if !isContext(o) {
			wanted[identity(o)] = o
		}
	}
	for _, o := range before {
		is, ok := wanted[identity(o)]
		delete(wanted, identity(o))
		switch s, err := newSubject(o, is); {
		case isContext(o):
		case !ok:
			missed = append(missed, o.String()+": is missing after; rules remove no objects")
		case err != nil:
			missed = append(missed, fmt.Sprintf("%s: %v", o, err))
		default:
			subjects = append(subjects, s)
		}
	}
	for _, o := range after {
		if _, left := wanted[identity(o)]; left {
			missed = append(missed, o.String()+": is missing before; rules add no objects")
		}
	}
	return subjects, missed
}

// isContext reports whether an object describes a control plane and passes no webhook.
func isContext(o manifest.Object) bool {
	return o.Is("extensions.gardener.cloud", "Cluster") || o.Is("", "Namespace") || strings.HasSuffix(o.Group(), ".gardener.cloud") &&
		(o.Group() == "core.gardener.cloud" || o.Kind == "Garden")
}

func newSubject(before, after manifest.Object) (*subject, error) {
	s := &subject{object: before, garden: before.Namespace == target.GardenNamespace}
	var err error
	if s.before, err = decodeObject(before.JSON); err != nil {
		return nil, err
	}
	if s.after, err = decodeObject(after.JSON); err != nil {
		return nil, err
	}
	s.target, s.form = target.Match(s.garden, before.Group(), before.Kind, before.Name)
	switch {
	case s.target == nil && s.garden:
		return nil, fmt.Errorf("rules reach no such object in the namespace %s", target.GardenNamespace)
	case s.target == nil:
		s.target = target.Other(target.Form{Group: before.Group(), Version: before.Version(), Kind: before.Kind, Name: before.Name})
		s.form = &s.target.Forms[0]
	case s.target.Purposed:
		s.target, _ = target.Lookup("node")
		s.form = &s.target.Forms[0]
		s.purpose, s.pool = textAt(s.before, "spec", "purpose"), textAt(s.before, "metadata", "labels", facts.LabelWorkerPool)
	}
	s.secret = s.form.Kind == "Secret" && (!equal(s.before["data"], s.after["data"]) || !equal(s.before["stringData"], s.after["stringData"]))
	if parsed, err := document.Parse(before.JSON); err == nil {
		version := (&target.Object{Target: s.target, Form: s.form, Document: parsed}).ImageVersion()
		if _, err := semver.StrictNewVersion(version); err == nil {
			s.version = version
		}
	}
	return s, nil
}

// constraint returns the range of the versions of the objects. It is empty for a garden, for an older Gardener, and for
// versions that are unknown.
func constraint(subjects []*subject, o Options) string {
	var minors []kubeflags.Minor
	for _, s := range subjects {
		if s.garden || o.Generation != contract.Today {
			return ""
		}
		if version, err := semver.StrictNewVersion(s.version); err == nil {
			minors = append(minors, kubeflags.Minor(version.Minor()))
		}
	}
	known := kubeflags.Versions()
	if len(minors) == 0 || slices.Min(minors) < known[0] || slices.Max(minors) > known[len(known)-1] {
		return ""
	}
	return fmt.Sprintf(">= %s, < %s", slices.Min(minors), slices.Max(minors)+1)
}

// factsOf returns the facts of a shoot or a garden with these objects: its provider, version and worker pool.
func (p *proposer) factsOf(s *subject) (*facts.Facts, error) {
	known := kubeflags.Versions()
	version, workers := "", []any{}
	for _, other := range p.subjects {
		if other.object.Namespace == s.object.Namespace && other.pool == "" {
			version = cmp.Or(version, other.version)
		}
	}
	version = cmp.Or(version, s.version, known[len(known)-1].String()+".0")
	if s.garden {
		return facts.FromGarden(rawOf(tree{
			"apiVersion": "operator.gardener.cloud/v1alpha1", "kind": "Garden", "metadata": tree{"name": "garden"},
			"spec": tree{"virtualCluster": tree{"kubernetes": tree{"version": version}}},
		}))
	}
	if s.pool != "" {
		workers = append(workers, tree{"name": s.pool, "kubernetes": tree{"version": cmp.Or(s.version, version)}})
	}
	found, err := facts.FromClusterObjects(s.object.Namespace, nil, nil, rawOf(tree{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": tree{"name": "shoot", "namespace": "garden-local"},
		"spec":   tree{"kubernetes": tree{"version": version}, "provider": tree{"type": p.options.Provider, "workers": workers}},
		"status": tree{"technicalID": s.object.Namespace},
	}))
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, set := range target.Sets() {
		labels[set.NamespaceLabel()] = p.options.Provider
	}
	return found.WithNamespace(facts.Namespace{Name: s.object.Namespace, Labels: labels}), nil
}
