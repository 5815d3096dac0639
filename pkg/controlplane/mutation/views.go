// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// value returns the images for a control plane, or for one of its worker pools.
func (i *images) value(f *facts.Facts, pool string) ref.Val {
	wanted := image.Wanted{Target: f.Kubernetes()}
	if seed, err := f.Seed.Get(); err == nil && seed != nil {
		wanted.Runtime = seed.Kubernetes
	}
	if worker := f.Pool(pool); worker != nil {
		wanted.Target, wanted.Architecture = worker.Kubernetes, worker.Architecture
	}
	if known, ok := i.choices.Get(wanted); ok {
		return known.(ref.Val)
	}
	chosen := types.NewStringStringMap(types.DefaultTypeAdapter, i.vector.Choose(wanted))
	i.choices.Add(wanted, chosen)
	return chosen
}

// views holds the variables for the expressions of each profile for one object: the facts and the profile's own values.
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
	// missing holds the lookups that found nothing and whose rules are skipped then.
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

// missing returns the name of the lookup that found nothing, so that the rule is skipped. It is empty if there is none.
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

// facts reads only the facts that the rules of the selection need.
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
		object = describe(ctx, o, r)
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

// noFacts holds the facts about a control plane if no rule needs any.
var noFacts = &facts.Facts{}

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

// needsFor returns the needs of the rules that concern the object. Nothing is read for other rules.
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

// HasKubelet reports whether the object configures a kubelet.
func (c concern) HasKubelet() bool { return c.kubelet }

// need computes the needs of the rules once.
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

// need computes the needs of the rule, and whether its condition can be evaluated without lookups.
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

// errUnnamed says that a name was computed, and is empty.
var errUnnamed = fmt.Errorf("its name is empty: %w", facts.ErrNotFound)

// read makes the lookup for a control plane in the namespace. It returns nil if an optional object is missing.
func (l *lookup) read(ctx context.Context, namespace string, variables operation.Variables, source facts.Source) (*facts.Found, *Failure) {
	request, err := l.resolve(ctx, variables)
	if err != nil {
		return nil, lookupFailure(l, ExpressionFailed, err)
	}
	var found *facts.Found
	switch {
	case request.ObjectName != "":
		found, err = source.Lookup(ctx, namespace, request)
	case !request.Optional:
		err = errUnnamed
	}
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, facts.ErrNotFound):
		return nil, lookupFailure(l, LookupMissing, err)
	default:
		return nil, lookupFailure(l, LookupFailed, err)
	}
}

func lookupFailure(l *lookup, reason Reason, err error) *Failure {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		reason = DeadlineExceeded
	}
	if l.request.Checksum && strings.HasPrefix(l.request.Name, "checksum_") {
		// The profile does not contain the name of an implicit lookup.
		return fail(reason, err, "profile %s: the checksum of %s (%s)", l.profile, l.shown, l.at)
	}
	return fail(reason, err, "profile %s: lookup %s", l.profile, l.request.Name)
}

// resolve computes the name of the object.
func (l *lookup) resolve(ctx context.Context, variables operation.Variables) (facts.LookupRequest, error) {
	request := l.request
	for _, part := range []struct {
		template *expression.Template
		into     *string
	}{{l.name, &request.ObjectName}, {l.namespace, &request.Namespace}} {
		if part.template == nil {
			continue
		}
		name, err := part.template.String(ctx, variables)
		if err != nil {
			return request, err
		}
		// A name that is empty names no object.
		if err := checkName(name); err != nil && name != "" {
			return request, fmt.Errorf("%s: %w", l.at, err)
		}
		*part.into = name
	}
	return request, nil
}

// readFacts reads the facts of a namespace. In an upgrade of Kubernetes, a Cluster in a cache can be older than the object, as
// the object's image says, or not know the worker pool that the object is for; then it is read afresh, once, before anything is
// decided by it. An object that is older than the Cluster is none: a control plane and its nodes are upgraded one after the other.
func readFacts(ctx context.Context, namespace string, o *target.Object, source facts.Source) (*facts.Facts, error) {
	found, err := source.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if refresher, ok := source.(facts.Refresher); ok && behind(found, o) {
		return refresher.Refresh(ctx, namespace)
	}
	return found, nil
}

// behind reports whether the object belongs to a newer state of the shoot than the facts. An OperatingSystemConfig has
// the version of its pool, which may be older than that of the control plane.
func behind(f *facts.Facts, o *target.Object) bool {
	pool, ok := o.Document.Original().Find("metadata", "labels").Get(facts.LabelWorkerPool).Text()
	if f.Shoot == nil || o.Form.Kind != "OperatingSystemConfig" || !ok {
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

// The purposes of OperatingSystemConfigs (gardener: pkg/apis/extensions/v1alpha1, OperatingSystemConfigPurpose).
const reconcile, provision = "reconcile", "provision"

var knownPurposes = []string{reconcile, provision}

// misses returns the reason for which the rule does not concern an object. It is empty if it does.
func (r *rule) misses(o *target.Object) string { return r.missesIn(o.Form, o.Purpose(), o) }

// missesIn works like misses for an object of the form and the purpose.
func (r *rule) missesIn(of *target.Form, purpose string, o interface{ HasKubelet() bool }) string {
	for i := range r.target.Forms {
		form := &r.target.Forms[i]
		if form.Kind != of.Kind || form.Group != of.Group {
			continue
		}
		if !form.Has(r.operation.Parts) {
			break
		}
		if r.purposes != nil && !slices.Contains(r.purposes, purpose) {
			return fmt.Sprintf("the purpose is %q", purpose)
		}
		if r.target.Component == "kubelet" && purpose == provision && !o.HasKubelet() {
			return "there is no kubelet in it"
		}
		return ""
	}
	return fmt.Sprintf("%s has no part for %s", of, r.operation.Name)
}

// evaluate computes the variable as a value for CEL.
func (v *variable) evaluate(ctx context.Context, variables operation.Variables) (any, error) {
	if v.template != nil {
		return v.template.Evaluate(ctx, variables)
	}
	resolved, err := operation.Write{Value: v.tree}.Resolve(ctx, variables)
	if err != nil {
		return nil, err
	}
	return expression.ParseComputed(ctx, resolved.JSON)
}

// holds evaluates the condition.
func (p *PlannedRule) holds(ctx context.Context, variables operation.Variables, how how) (bool, error) {
	if p.rule.when == nil || how.forced {
		return true, nil
	}
	evaluate := p.rule.when.Bool
	if v, ok := variables.(*view); ok {
		evaluate = func(ctx context.Context, _ operation.Variables) (bool, error) { return v.holds(ctx, p.rule) }
	}
	holds, err := evaluate(ctx, variables)
	if err != nil {
		return false, evaluationFailure(p.rule, err)
	}
	if !holds {
		p.Skipped = ConditionFalse
	}
	return holds, nil
}

// compute makes a step for each write of the rule.
func (p *PlannedRule) compute(ctx context.Context, variables operation.Variables, how how, steps []Step) error {
	p.Steps = steps
	for i := range p.rule.writes {
		write := &p.rule.writes[i]
		if how.exists && p.rule.keep {
			p.Steps[i] = Step{Place: write.Place, Kept: true, write: write}
			continue
		}
		value, err := write.Resolve(ctx, variables)
		if err != nil {
			return evaluationFailure(p.rule, err)
		}
		p.Steps[i] = Step{Place: write.Place, Value: value, write: write}
		if value.From != nil {
			p.Steps[i].secrecy = &secrecy{p.rule, variables}
		}
	}
	return nil
}
