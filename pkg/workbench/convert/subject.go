// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// subject is one object before and after.
type subject struct {
	manifest.Object

	before, after tree
	target        *target.Target
	form          *target.Form
	// minor is the version of Kubernetes of the object's image; 0 if it is unknown.
	minor kubeflags.Minor
	// purpose is that of an OperatingSystemConfig.
	purpose string
}

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
	s := &subject{Object: before}
	garden := before.Namespace == target.GardenNamespace
	var err error
	if s.before, err = decodeObject(before.JSON); err != nil {
		return nil, err
	}
	if s.after, err = decodeObject(after.JSON); err != nil {
		return nil, err
	}
	s.target, s.form = target.Match(garden, before.Group(), before.Kind, before.Name)
	switch {
	case s.target == nil && garden:
		return nil, fmt.Errorf("rules reach no such object in the namespace %s", target.GardenNamespace)
	case s.target == nil:
		s.target = target.Other(target.Form{Group: before.Group(), Version: before.Version(), Kind: before.Kind, Name: before.Name})
		s.form = &s.target.Forms[0]
	case s.target.Purposed:
		s.target, _ = target.Lookup("node")
		s.form = &s.target.Forms[0]
		s.purpose = find[string](s.before, "spec", "purpose")
	}
	if parsed, err := document.Parse(before.JSON); err == nil {
		image := (&target.Object{Target: s.target, Form: s.form, Document: parsed}).ImageVersion()
		version, err := semver.StrictNewVersion(image)
		if err == nil && slices.Contains(kubeflags.Versions(), kubeflags.Minor(version.Minor())) {
			s.minor = kubeflags.Minor(version.Minor())
		}
	}
	return s, nil
}

// versions returns the range of the versions of the objects, and a version in it. The range is empty if there are none.
func versions(subjects []*subject) (constraint, version string) {
	var minors []kubeflags.Minor
	for _, s := range subjects {
		if s.minor != 0 {
			minors = append(minors, s.minor)
		}
	}
	if len(minors) == 0 {
		return "", slices.Max(kubeflags.Versions()).String() + ".0"
	}
	newest := slices.Max(minors)
	return fmt.Sprintf(">= %s, < %s", slices.Min(minors), newest+1), newest.String() + ".0"
}

// factsOf returns the facts of a shoot with these objects: its provider and version.
func (p *proposer) factsOf(s *subject) (*facts.Facts, error) {
	found, err := facts.FromParts(s.Namespace, nil, nil, rawOf(tree{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": tree{"name": "shoot", "namespace": "garden-local"},
		"spec":   tree{"kubernetes": tree{"version": p.version}, "provider": tree{"type": p.options.Provider}},
		"status": tree{"technicalID": s.Namespace},
	}))
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, set := range target.Sets() {
		labels[set.NamespaceLabel()] = p.options.Provider
	}
	return found.WithNamespace(facts.Namespace{Name: s.Namespace, Labels: labels}), nil
}
