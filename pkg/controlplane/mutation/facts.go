// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"maps"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Views holds the variables for the expressions of each profile for one object: the facts and the profile's own values.
type Views []*scope.View

// noFacts holds the facts about a control plane if no rule needs any.
var noFacts = &facts.Facts{}

// Of returns the variables for the expressions of a profile.
func (v Views) Of(s *scope.Scope) operation.Variables {
	return v[slices.IndexFunc(v, func(v *scope.View) bool { return v.Scope == s })]
}

// Missing returns the reason for skipping a rule because a lookup found nothing. It is empty if there is none.
func (v Views) Missing(r *Rule) string {
	if name := v.Of(r.Scope).(*scope.View).MissingOf(r.Needs); name != "" {
		return "lookup " + name + " is missing"
	}
	return ""
}

// Facts reads only the facts that the rules of the selection need. If tolerate is not nil, it makes all lookups of the
// rules, calls tolerate with each that fails, and continues after every failure.
func (s *Selection) Facts(
	ctx context.Context, g contract.Generation, r Request, o *target.Object, source facts.Source, tolerate func(*scope.LookupError) bool,
) (Views, *Failure) {
	needs := s.NeedsFor(g, o)
	found := noFacts
	if needs.Cluster {
		read, err := readFacts(ctx, r.Namespace, o, source)
		switch {
		case err == nil:
			found = read
		case tolerate == nil:
			return nil, factsFailure(r.Namespace, err)
		}
	}
	if err := found.Decode(needs.Seed, needs.CloudProfile); err != nil && tolerate == nil {
		return nil, factsFailure(r.Namespace, err)
	}
	var object facts.Object
	if needs.Object {
		object = describe(ctx, o, r)
	}
	base := found.Activation(object, r.Operation)
	result := make(Views, len(needs.Scopes))
	for i, scope := range needs.Scopes {
		result[i] = scope.View(ctx, base, found, object.Labels[facts.LabelWorkerPool])
		named := needs.Lookups[scope]
		if tolerate == nil {
			named = s.wanted(ctx, o, result[i], named)
		}
		if err := result[i].Look(ctx, r.Namespace, named, source, tolerate); err != nil {
			return nil, lookupFailure(err)
		}
	}
	return result, nil
}

// describe returns the object in the form that expressions use.
func describe(ctx context.Context, o *target.Object, r Request) facts.Object {
	metadata := o.Document.Original().Get("metadata")
	return facts.Object{
		APIVersion: text(o.Document.Original().Get("apiVersion")), Kind: o.Form.Kind, Name: r.Name, Namespace: r.Namespace,
		Labels: texts(metadata.Get("labels")), Annotations: texts(metadata.Get("annotations")),
		Raw: func() any {
			if err := expression.Charge(ctx, len(o.Document.Original().Raw())); err != nil {
				return err
			}
			return o.Document.Original().Value()
		},
	}
}

func text(n *document.Node) string {
	s, _ := n.Text()
	return s
}

func texts(n *document.Node) map[string]string {
	result := map[string]string{}
	for key, value := range n.Members() {
		result[key] = text(value)
	}
	return result
}

// wanted returns the lookups of rules that apply, as far as conditions can be evaluated without lookups. Failing
// conditions are left to the plan, which denies the object.
func (s *Selection) wanted(ctx context.Context, o *target.Object, v *scope.View, all map[string]bool) map[string]bool {
	if len(all) == 0 || s.Mode.Forced {
		return all
	}
	wanted, left := map[string]bool{}, false
	for _, r := range s.Rules {
		lookups := r.Needs.Lookups[r.Scope]
		if r.Scope != v.Scope || len(lookups) == 0 || r.Misses(o) != "" {
			continue
		}
		if r.early {
			if holds, err := v.Decide(ctx, r.When, r.WhenText); err == nil && !holds {
				left = true
				continue
			}
		}
		maps.Copy(wanted, lookups)
	}
	if !left {
		return all
	}
	return wanted
}

// readFacts reads the facts of a namespace. During an upgrade of Kubernetes, a cached Cluster can be older than the
// object, according to the object's image, or not have the object's worker pool. Then it is read again, once, before
// any decision. An object that is older than the Cluster is normal: a control plane and its nodes are upgraded one
// after the other.
func readFacts(ctx context.Context, namespace string, o *target.Object, source facts.Source) (*facts.Facts, error) {
	found, err := source.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if refresher, ok := source.(facts.Refresher); ok && isStale(found, o) {
		return refresher.Refresh(ctx, namespace)
	}
	return found, nil
}

// isStale reports whether the object belongs to a newer state of the shoot than the facts. An OperatingSystemConfig has
// the version of its pool, which may be older than the control plane.
func isStale(f *facts.Facts, o *target.Object) bool {
	pool, ok := o.Document.Original().Find("metadata", "labels").Get(facts.LabelWorkerPool).Text()
	if f.Kubernetes() == "" || o.Form.Kind != "OperatingSystemConfig" || !ok {
		return newer(o.ImageVersion(), f.Kubernetes())
	}
	worker := f.Pool(pool)
	return worker == nil || newer(o.ImageVersion(), worker.Kubernetes)
}

// newer reports whether one version of Kubernetes is newer than another. It ignores suffixes, which depend on the
// build. An invalid version is not newer than any.
func newer(version, than string) bool {
	if version == than {
		return false
	}
	a, errA := semver.NewVersion(version)
	b, errB := semver.NewVersion(than)
	if errA != nil || errB != nil {
		return false
	}
	core := func(v *semver.Version) *semver.Version { return semver.New(v.Major(), v.Minor(), v.Patch(), "", "") }
	return core(a).GreaterThan(core(b))
}
