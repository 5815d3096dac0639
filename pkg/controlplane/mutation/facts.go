// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/scope"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Views holds the variables for the expressions of each profile for one object: the facts and the profile's own values.
type Views []*scope.View

// noFacts holds the facts about a control plane if no rule needs any.
var noFacts = &facts.Facts{}

// Of returns the variables for the expressions of a profile.
func (v Views) Of(s *scope.Scope) *scope.View {
	return v[slices.IndexFunc(v, func(v *scope.View) bool { return v.Scope == s })]
}

// Facts reads only the facts that the rules for the object need. If tolerate is not nil, it makes all lookups of the
// rules, calls tolerate with each that fails, and continues after every failure.
func (s *Selection) Facts(
	ctx context.Context, g contract.Generation, r Request, o *target.Object, source facts.Source, tolerate func(*scope.LookupError),
) (Views, *Failure) {
	var (
		needs scope.Needs
		found = noFacts
		skips = SkipsFor(g, o)
	)
	for _, rule := range s.Rules {
		if skips.Reason(rule) == "" {
			needs.Cluster = needs.Cluster || rule.Needs.Cluster
			needs.Object = needs.Object || rule.Needs.Object
			needs.Seed = needs.Seed || rule.Needs.Seed
			needs.CloudProfile = needs.CloudProfile || rule.Needs.CloudProfile
		}
	}
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
	var object facts.AdmittedObject
	if needs.Object {
		object = describe(ctx, o, r)
	}
	base := found.Activation(object, r.Operation)
	views := make(Views, len(s.scopes))
	for i, scope := range s.scopes {
		views[i] = scope.View(ctx, base, found, object.Labels[facts.LabelWorkerPool])
	}
	return views, s.look(ctx, views, r.Namespace, skips, source, tolerate)
}

// look makes the lookups of the rules that apply, as far as this is known.
func (s *Selection) look(
	ctx context.Context, views Views, namespace string, skips Skips, source facts.Source, tolerate func(*scope.LookupError),
) *Failure {
	for _, rule := range s.Rules {
		if len(rule.Needs.Lookups) == 0 || skips.Reason(rule) != "" {
			continue
		}
		view := views.Of(rule.Scope)
		if rule.early && tolerate == nil && !s.Mode.Forced {
			// The plan denies the object if the condition fails.
			if holds, err := rule.When.Bool(ctx, view); err == nil && !holds {
				continue
			}
		}
		for _, l := range rule.Needs.Lookups {
			switch err := view.Look(ctx, namespace, l, source); {
			case err == nil:
			case tolerate == nil:
				return lookupFailure(err)
			default:
				tolerate(err)
			}
		}
	}
	return nil
}

// describe returns the object in the form that expressions use.
func describe(ctx context.Context, o *target.Object, r Request) facts.AdmittedObject {
	metadata := o.Document.Original().Get("metadata")
	return facts.AdmittedObject{
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
func newer(of, than string) bool {
	if of == than {
		return false
	}
	a, errA := version.ParseGeneric(of)
	b, errB := version.ParseGeneric(than)
	return errA == nil && errB == nil && a.GreaterThan(b)
}
