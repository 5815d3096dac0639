// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package convert proposes rules for the differences between objects before and after a webhook. Each difference
// becomes one argument of the most specific operation; arguments of the same operation become one rule. The package
// then applies the proposal to the objects before, and reports remaining differences.
//
// It finds no conditions and no expressions, and it reads no files. Start reading at Propose.
package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// ErrNoDifference means that no object differs in anything that rules could write.
var ErrNoDifference = errors.New("before and after are the same: there is nothing to propose rules for")

// Options are the settings of a proposal.
type Options struct {
	// Name is the name of the profile, and Provider the provider that it serves.
	Name, Provider string
	// Generation is that of the Gardener which wrote the objects.
	Generation contract.Generation
}

// Proposal is a profile with the differences that it reproduces and misses.
type Proposal struct {
	// Profile is the profile as YAML; it has only comments where no rule could be proposed.
	Profile []byte
	// Missed are the differences that the profile does not make, each with the name of its object.
	Missed []string
	// Objects is the number of objects that differ, Reproduced the number of those that the profile makes equal.
	Objects, Reproduced int
	// Arguments is the number of arguments in all rules.
	Arguments int
}

// Propose returns a profile with rules that turn the objects before into those after, which are matched by kind,
// namespace and name. The error wraps ErrNoDifference if nothing differs.
func Propose(ctx context.Context, before, after []manifest.Object, o Options) (*Proposal, error) {
	subjects, missed := match(before, after)
	out := &Proposal{Missed: missed}
	var all []*entry
	for _, s := range subjects {
		found := differences(s.before, s.after, s)
		if s.secret {
			out.Missed = append(out.Missed, s.String()+": data of a Secret differs; rules read it with a lookup")
			out.Objects++
			continue
		}
		if len(found) > 0 {
			s.differs = true
			out.Objects++
		}
		all = merge(all, found)
	}
	if out.Objects == 0 && len(missed) == 0 {
		return nil, ErrNoDifference
	}
	p := &proposer{options: o, subjects: subjects, kubernetes: constraint(subjects, o)}
	program, _, err := p.accept(all)
	if err != nil {
		return nil, fmt.Errorf("compiling the proposal: %w", err)
	}
	// An operation may write more than its arguments, such as a whole container: propose the remaining differences as
	// well.
	for _, s := range subjects {
		if got, err := p.admit(ctx, program, s); err == nil {
			all = merge(all, differences(got, s.after, s))
		}
	}
	keepSidecars(all)
	program, rules, err := p.accept(all)
	if err != nil {
		return nil, fmt.Errorf("compiling the proposal: %w", err)
	}
	for _, s := range subjects {
		left, err := p.remaining(ctx, program, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		out.Missed = append(out.Missed, left...)
		if s.differs && len(left) == 0 {
			out.Reproduced++
		}
	}
	for _, r := range rules {
		out.Arguments += len(r.entries)
	}
	out.Profile, err = p.document(rules, all, out)
	return out, err
}

// keepSidecars refuses changes of the container that a proposed sidecar makes: a rule of containers would replace it.
func keepSidecars(all []*entry) {
	for _, e := range all {
		if e.operation != "containers" || len(e.path) < 3 {
			continue
		}
		made := func(other *entry) bool {
			return other.owner == e.owner && other.operation == "machineControllerManagerProvider" &&
				sidecarPrefix+textAt(other.value, "provider") == e.path[1]
		}
		if slices.ContainsFunc(all, made) {
			e.refused = "it would replace the sidecar that machineControllerManagerProvider makes"
		}
	}
}

// proposer holds the common data of the steps of one proposal.
type proposer struct {
	options  Options
	subjects []*subject
	// kubernetes is the profile's constraint on versions; empty for none.
	kubernetes string
}

// accept returns the program and the rules of all entries that the engine accepts together.
func (p *proposer) accept(all []*entry) (*mutation.Program, []*rule, error) {
	open := slices.DeleteFunc(slices.Clone(all), func(e *entry) bool { return e.refused != "" })
	accepted, err := p.extend(nil, open)
	if err != nil || len(accepted) == 0 {
		return nil, nil, err
	}
	rules := arrange(accepted)
	program, findings, err := p.compile(rules)
	return program, rules, errors.Join(err, findings.Err())
}

// extend returns the accepted entries with those of more that the engine accepts with them. It tries all, then halves,
// and marks each refused entry.
func (p *proposer) extend(accepted, more []*entry) ([]*entry, error) {
	if len(more) == 0 {
		return accepted, nil
	}
	together := slices.Concat(accepted, more)
	_, findings, err := p.compile(arrange(together))
	switch {
	case err != nil:
		return nil, err
	case len(findings) == 0:
		return together, nil
	case len(more) == 1:
		more[0].refused = findings[0].Message
		return accepted, nil
	}
	half := len(more) / 2
	if accepted, err = p.extend(accepted, more[:half]); err != nil {
		return nil, err
	}
	return p.extend(accepted, more[half:])
}

// compile returns the program of the rules, or the engine's findings.
func (p *proposer) compile(rules []*rule) (*mutation.Program, source.Findings, error) {
	written, err := p.write(rules)
	if err != nil {
		return nil, nil, err
	}
	documents, findings := profile.Load(source.File{Name: "proposal", Data: written})
	if len(findings) > 0 {
		return nil, findings, nil
	}
	program, err := compiler.Compile(documents, compiler.Options{Generation: p.options.Generation})
	if errors.As(err, &findings) {
		return nil, findings.Errors(), nil
	}
	return program, nil, err
}

// remaining returns the differences that are left when the program was applied to the object before.
func (p *proposer) remaining(ctx context.Context, program *mutation.Program, s *subject) ([]string, error) {
	got, err := p.admit(ctx, program, s)
	if failure, ok := errors.AsType[*mutation.Failure](err); ok {
		return []string{fmt.Sprintf("%s: the proposal is denied: %v", s, failure)}, nil
	}
	if err != nil {
		return nil, err
	}
	var left []string
	for _, e := range differences(got, s.after, s) {
		left = append(left, s.String()+": "+e.String()+" is missing")
	}
	return left, nil
}

// admit applies the program, which may be nil, to the object before.
func (p *proposer) admit(ctx context.Context, program *mutation.Program, s *subject) (tree, error) {
	if program == nil {
		return s.before, nil
	}
	object := s.raw
	for _, registration := range program.Registrations() {
		if registration.Garden != s.garden || !registration.Has(s.form.Group, s.form.Kind, s.object.Name) {
			continue
		}
		result, err := program.Admit(ctx, mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: "CREATE",
			Namespace: s.object.Namespace, Name: s.object.Name, Group: s.form.Group, Version: s.form.Version, Kind: s.form.Kind,
			Object: object,
		}, s.facts(p.options.Provider, p.subjects))
		if err != nil {
			return nil, err
		}
		if result.Patch == nil {
			continue
		}
		patch, err := jsonpatch.DecodePatch(result.Patch)
		if err != nil {
			return nil, err
		}
		if object, err = patch.Apply(object); err != nil {
			return nil, err
		}
	}
	return decodeTree(object)
}

// document returns the profile with a comment at the top and, after the rules, the refused entries and missing objects.
func (p *proposer) document(rules []*rule, all []*entry, out *Proposal) ([]byte, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "# Proposed by graft convert; it reproduces %d of %s.\n", out.Reproduced, counted(out.Objects))
	if len(rules) > 0 {
		written, err := p.write(rules)
		if err != nil {
			return nil, err
		}
		text.Write(written)
	}
	refused := slices.DeleteFunc(slices.Clone(all), func(e *entry) bool { return e.refused == "" })
	if len(refused) > 0 {
		text.WriteString("\n# Refused by the engine:\n")
	}
	for _, e := range refused {
		fmt.Fprintf(&text, "# - %s: %s: %s\n", e.owner.Name, e, strings.ReplaceAll(e.refused, "\n", "\n#   "))
	}
	if len(out.Missed) > 0 {
		text.WriteString("\n# Not reproduced:\n")
	}
	for _, missed := range out.Missed {
		text.WriteString("# - " + strings.ReplaceAll(missed, "\n", "\n#   ") + "\n")
	}
	return []byte(text.String()), nil
}

func counted(objects int) string {
	if objects == 1 {
		return "1 object that differs"
	}
	return fmt.Sprintf("%d objects that differ", objects)
}

// subject is one object before and after.
type subject struct {
	object manifest.Object
	target *target.Target
	form   *target.Form
	garden bool
	// purpose is that of an OperatingSystemConfig, pool its worker pool, and version that of Kubernetes by the object's
	// image.
	purpose, pool, version string

	before, after tree
	raw           []byte
	// differs reports whether rules are proposed for the object; secret whether the data of a Secret differ.
	differs, secret bool
}

// String names the object.
func (s *subject) String() string { return s.object.String() }

// match pairs objects by kind, namespace and name. The second result lists unpaired and unreadable objects.
func match(before, after []manifest.Object) (subjects []*subject, missed []string) {
	identity := func(o manifest.Object) string {
		return strings.Join([]string{o.Group(), o.Kind, o.Namespace, o.Name}, "/")
	}
	wanted := map[string]manifest.Object{}
	for _, o := range after {
		wanted[identity(o)] = o
	}
	for _, o := range before {
		is, ok := wanted[identity(o)]
		delete(wanted, identity(o))
		if isContext(o) {
			continue
		}
		if !ok {
			missed = append(missed, o.String()+": is missing after; rules remove no objects")
			continue
		}
		s, err := newSubject(o, is)
		if err != nil {
			missed = append(missed, fmt.Sprintf("%s: %v", o, err))
			continue
		}
		subjects = append(subjects, s)
	}
	for _, o := range after {
		if _, left := wanted[identity(o)]; left && !isContext(o) {
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
	s := &subject{object: before, raw: before.JSON, garden: before.Namespace == target.GardenNamespace}
	var err error
	if s.before, err = decodeTree(before.JSON); err != nil {
		return nil, err
	}
	if s.after, err = decodeTree(after.JSON); err != nil {
		return nil, err
	}
	s.target, s.form = target.Match(s.garden, before.Group(), before.Kind, before.Name)
	if s.target == nil && s.garden {
		return nil, fmt.Errorf("rules reach no such object in the namespace %s", target.GardenNamespace)
	}
	if s.target == nil {
		s.target = target.Other(target.Form{Group: before.Group(), Version: before.Version(), Kind: before.Kind, Name: before.Name})
		s.form = &s.target.Forms[0]
	}
	if s.form.Kind == "OperatingSystemConfig" {
		s.purpose, s.pool = textAt(s.before, "spec", "purpose"), textAt(s.before, "metadata", "labels", facts.LabelWorkerPool)
	}
	s.secret = s.form.Kind == "Secret" && (!equal(s.before["data"], s.after["data"]) || !equal(s.before["stringData"], s.after["stringData"]))
	if parsed, err := document.Parse(s.raw); err == nil {
		version := (&target.Object{Target: s.target, Form: s.form, Document: parsed}).ImageVersion()
		if _, err := semver.StrictNewVersion(version); err == nil {
			s.version = version
		}
	}
	return s, nil
}

// constraint returns the range of the versions that the objects have; empty where some have none or the tables lack
// them.
func constraint(subjects []*subject, o Options) string {
	var first, last uint64
	for _, s := range subjects {
		if s.garden || o.Generation != contract.Today {
			return ""
		}
		version, err := semver.StrictNewVersion(s.version)
		if err != nil {
			continue
		}
		if first == 0 || version.Minor() < first {
			first = version.Minor()
		}
		last = max(last, version.Minor())
	}
	known := kubeflags.Versions()
	if first == 0 || first < uint64(known[0]) || last > uint64(known[len(known)-1]) {
		return ""
	}
	return fmt.Sprintf(">= 1.%d, < 1.%d", first, last+1)
}

// facts returns the facts that a shoot with these objects would have: its provider, version and worker pools.
func (s *subject) facts(provider string, subjects []*subject) facts.Source {
	known := kubeflags.Versions()
	version, workers := "", []any{}
	for _, other := range subjects {
		if other.object.Namespace == s.object.Namespace && other.pool == "" {
			version = cmp.Or(version, other.version)
		}
	}
	version = cmp.Or(version, s.version, known[len(known)-1].String()+".0")
	if s.pool != "" {
		workers = append(workers, tree{"name": s.pool, "kubernetes": tree{"version": cmp.Or(s.version, version)}})
	}
	if s.garden {
		found, err := facts.FromGarden(rawOf(tree{
			"apiVersion": "operator.gardener.cloud/v1alpha1", "kind": "Garden", "metadata": tree{"name": "garden"},
			"spec": tree{"virtualCluster": tree{"kubernetes": tree{"version": version}}},
		}))
		if err != nil {
			return &facts.Static{}
		}
		return &facts.Static{Facts: found}
	}
	found, err := facts.FromClusterObjects(s.object.Namespace, nil, nil, rawOf(tree{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "metadata": tree{"name": "shoot", "namespace": "garden-local"},
		"spec":   tree{"kubernetes": tree{"version": version}, "provider": tree{"type": provider, "workers": workers}},
		"status": tree{"technicalID": s.object.Namespace},
	}))
	if err != nil {
		return &facts.Static{}
	}
	labels := map[string]string{}
	for _, set := range target.Sets() {
		labels[set.NamespaceLabel()] = provider
	}
	return &facts.Static{Facts: found.WithNamespace(facts.Namespace{Name: s.object.Namespace, Labels: labels})}
}
