// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// views are what the expressions of each profile see for one object: the facts, and the profile's own values.
type views []*view

func (v views) of(s *scope) operation.Variables {
	return v[slices.IndexFunc(v, func(v *view) bool { return v.scope == s })]
}

// view is one profile's; variables are computed when they are first named.
type view struct {
	parent  operation.Variables
	context context.Context
	scope   *scope
	facts   *facts.Facts
	pool    string
	lookups ref.Val
	// missing are the lookups that found nothing and say that their rules are to be left out.
	missing map[string]bool
	known   map[string]any
	// decided are the conditions that several rules have.
	decided map[string]bool
}

// holds evaluates the condition of a rule, once for all rules that have the same.
func (v *view) holds(ctx context.Context, r *rule) (bool, error) {
	if r.whenText == "" || v.scope.conditions[r.whenText] < 2 {
		return r.when.Bool(ctx, v)
	}
	if holds, ok := v.decided[r.whenText]; ok {
		return holds, nil
	}
	holds, err := r.when.Bool(ctx, v)
	if err != nil {
		return false, err
	}
	if v.decided == nil {
		v.decided = map[string]bool{}
	}
	v.decided[r.whenText] = holds
	return holds, nil
}

// missing says which lookup leaves out the rule because it found nothing; empty when none does.
func (v views) missing(r *rule) string {
	of := v.of(r.scope).(*view)
	if len(of.missing) == 0 {
		return ""
	}
	for _, l := range r.scope.lookups {
		if name := l.request.Name; of.missing[name] && r.reach.lookups[r.scope][name] {
			return "lookup " + name + " is missing"
		}
	}
	return ""
}

// ResolveName implements the CEL activation.
func (v *view) ResolveName(name string) (any, bool) {
	switch name {
	case parametersName:
		return v.scope.parameters, true
	case lookupsName:
		return v.lookups, v.lookups != nil
	case variablesName:
		return v.scope.varType.Value(v), true
	case imagesName:
		if v.scope.images == nil {
			return nil, false
		}
		return v.scope.images.value(v.facts, v.pool), true
	default:
		return v.parent.ResolveName(name)
	}
}

// Parent implements the CEL activation; ResolveName asks the parent itself.
func (v *view) Parent() operation.Variables { return nil }

// Field computes a variable once.
func (v *view) Field(name string) (any, bool) {
	declared, ok := v.scope.variableOf[name]
	if !ok {
		return nil, false
	}
	if value, ok := v.known[name]; ok {
		return value, true
	}
	value, err := declared.evaluate(v.context, v)
	if err != nil {
		value = err
	}
	if v.known == nil {
		v.known = make(map[string]any, len(v.scope.variables))
	}
	v.known[name] = value
	return value, true
}

// facts reads what the rules of the selection need and no more.
func (s *selection) facts(ctx context.Context, g contract.Generation, r Request, o *target.Object, source facts.Source) (views, *Failure) {
	needs := s.needsFor(g, o)
	found := noFacts
	if needs.cluster {
		var err error
		if found, err = readFacts(ctx, r.Namespace, o, source); err != nil {
			return nil, factsFailure(r.Namespace, err)
		}
	}
	if err := needs.decode(found); err != nil {
		return nil, factsFailure(r.Namespace, err)
	}
	var object facts.Object
	if needs.object {
		object = describe(o, r)
	}
	base := found.Activation(object, r.Operation)
	result := make(views, len(needs.scopes))
	for i, scope := range needs.scopes {
		result[i] = &view{parent: base, context: ctx, scope: scope, facts: found, pool: object.Labels[facts.LabelWorkerPool]}
		if failure := result[i].look(ctx, r.Namespace, s.wanted(ctx, o, result[i], needs.lookups[scope]), source); failure != nil {
			return nil, failure
		}
	}
	return result, nil
}

// noFacts is what is known of a control plane that no rule asks for.
var noFacts = &facts.Facts{}

// wanted are the lookups of rules that apply, as far as their conditions say so without a lookup. A condition that has no result is
// left to the plan, which denies the object.
func (s *selection) wanted(ctx context.Context, o *target.Object, v *view, all map[string]bool) map[string]bool {
	if len(all) == 0 || s.how.forced {
		return all
	}
	wanted, left := map[string]bool{}, false
	for _, r := range s.rules {
		lookups := r.reach.lookups[r.scope]
		if r.scope != v.scope || len(lookups) == 0 || r.misses(o) != "" {
			continue
		}
		if r.early {
			if holds, err := v.holds(ctx, r); err == nil && !holds {
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

// needsFor are the needs of the rules that concern the object: nothing is read, and nothing can be missing, for the others.
func (s *selection) needsFor(g contract.Generation, o *target.Object) *needs {
	if _, locked := contract.ServiceLocked(o, g); locked {
		return &needs{}
	}
	if s.needsIn == nil {
		return &s.needs
	}
	purpose := o.Purpose()
	if known := s.needsIn[concern{purpose, purpose != provision || o.HasKubelet()}]; known != nil {
		return known
	}
	return s.needsOfConcerned(purpose, o)
}

// concern is how an OperatingSystemConfig says which rules concern it; for other objects, purpose is empty.
type concern struct {
	purpose string
	kubelet bool
}

// HasKubelet is like that of an object.
func (c concern) HasKubelet() bool { return c.kubelet }

// need finds what the rules need, once.
func (s *selection) need() {
	for _, r := range s.rules {
		r.need()
	}
	s.needs, s.needsIn = needsOf(s.rules), nil
	if !slices.ContainsFunc(s.rules, func(r *rule) bool { return r.target.Purposed || r.missesIn(s.form, "", concern{}) != "" }) {
		return
	}
	s.needsIn = map[concern]*needs{}
	for _, of := range []concern{{"", true}, {reconcile, true}, {provision, true}, {provision, false}} {
		s.needsIn[of] = s.needsOfConcerned(of.purpose, of)
	}
}

func (s *selection) needsOfConcerned(purpose string, o interface{ HasKubelet() bool }) *needs {
	found := needsOf(slices.DeleteFunc(slices.Clone(s.rules), func(r *rule) bool { return r.missesIn(s.form, purpose, o) != "" }))
	return &found
}

// needs are the facts that a selection's rules name.
type needs struct {
	cluster, object bool
	// parts are those of the Cluster.
	parts   facts.Parts
	scopes  []*scope // those that have a rule, in the order of the rules
	lookups map[*scope]map[string]bool
}

// decode decodes the parts of the Cluster that are named, so that one that cannot be is found before anything is evaluated.
func (n *needs) decode(f *facts.Facts) error {
	if n.parts.Seed {
		if _, err := f.Seed.Get(); err != nil {
			return err
		}
	}
	if n.parts.CloudProfile {
		if _, err := f.CloudProfile.Get(); err != nil {
			return err
		}
	}
	return nil
}

// namesOfCluster are the variables for which the Cluster, the namespace or the Garden has to be read.
var namesOfCluster = []string{"shoot", "seed", "cloudProfile", "namespaceObject", "garden", "pool", imagesName}

// need finds what the rule reaches, and whether its condition can be decided before its lookups are made.
func (r *rule) need() {
	if r.reach != nil {
		return
	}
	reach := r.scope.reach(r.references())
	r.reach, r.inKubelet = &reach, r.writesKubelet()
	if r.whenText == "" || len(reach.lookups[r.scope]) == 0 {
		return
	}
	if before := r.scope.reach(r.when.References()); len(before.lookups[r.scope]) == 0 {
		// It is decided twice, and evaluated once.
		r.early = true
		r.scope.conditions[r.whenText]++
	}
}

func needsOf(rules []*rule) needs {
	result := needs{lookups: map[*scope]map[string]bool{}}
	for _, r := range rules {
		if result.lookups[r.scope] == nil {
			result.scopes = append(result.scopes, r.scope)
			result.lookups[r.scope] = map[string]bool{}
		}
		maps.Copy(result.lookups[r.scope], r.reach.lookups[r.scope])
		result.cluster = result.cluster || r.reach.cluster
		result.object = result.object || r.reach.object
		result.parts = result.parts.Join(r.reach.parts)
	}
	return result
}

func (n *needs) add(s *scope, references []string, seen map[string]bool) {
	for _, reference := range references {
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		switch root {
		case lookupsName:
			n.addLookups(s, name, seen)
		case variablesName:
			n.addVariables(s, name, seen)
		default:
			n.cluster = n.cluster || slices.Contains(namesOfCluster, root)
			n.parts = n.parts.Join(facts.Parts{
				Manifest: facts.InManifest(root, name), Seed: root == "seed" || root == imagesName, CloudProfile: root == "cloudProfile",
			})
			n.object = n.object || root == "object" || root == "pool" || root == imagesName
		}
	}
}

func (n *needs) addVariables(s *scope, name string, seen map[string]bool) {
	for _, declared := range s.variables {
		if (name == "" || declared.name == name) && !seen[declared.name] {
			seen[declared.name] = true
			n.add(s, declared.references(), seen)
		}
	}
}

// addLookups adds the named lookup, or all, and what the names of their objects need.
func (n *needs) addLookups(s *scope, name string, seen map[string]bool) {
	for _, l := range s.lookups {
		if (name == "" || l.request.Name == name) && !n.lookups[s][l.request.Name] {
			n.lookups[s][l.request.Name] = true
			n.add(s, l.references(), seen)
		}
	}
}

// look makes the named lookups; one that is not named is not made.
func (v *view) look(ctx context.Context, namespace string, named map[string]bool, source facts.Source) *Failure {
	if len(named) == 0 {
		return nil
	}
	found := make(map[string]*facts.Found, len(named))
	for _, l := range v.scope.lookups {
		if !named[l.request.Name] {
			continue
		}
		values, failure := l.read(ctx, namespace, v, source)
		switch {
		case failure == nil:
			found[l.request.Name] = values
		case failure.Reason == LookupMissing && l.skip:
			if v.missing == nil {
				v.missing = map[string]bool{}
			}
			v.missing[l.request.Name] = true
		default:
			return failure
		}
	}
	v.lookups = v.scope.lookupsType.Value(found)
	return nil
}

func factsFailure(namespace string, err error) *Failure {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fail(DeadlineExceeded, err, "reading the facts of namespace %s", namespace)
	case errors.Is(err, facts.ErrNotFound):
		return fail(ClusterMissing, err, "reading the facts of namespace %s", namespace)
	case errors.Is(err, facts.ErrUndecodable):
		return fail(ClusterUndecodable, err, "reading the facts of namespace %s", namespace)
	default:
		return fail(FactsUnavailable, err, "reading the facts of namespace %s", namespace)
	}
}

// describe is the object as expressions see it.
func describe(o *target.Object, r Request) facts.Object {
	metadata := o.Document.Original().Get("metadata")
	return facts.Object{
		APIVersion: text(o.Document.Original().Get("apiVersion")), Kind: o.Form.Kind, Name: r.Name, Namespace: r.Namespace,
		Labels: texts(metadata.Get("labels")), Annotations: texts(metadata.Get("annotations")),
		Raw: func() any { return o.Document.Original().Value() },
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
