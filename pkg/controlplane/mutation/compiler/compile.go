// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package compiler compiles profiles into a mutation.Program. It reports all findings at once, each with its position,
// and tries the program on samples. It reads no files. Start reading at Check.
package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/dryrun"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const (
	// UnknownTarget means that the contract has no such target.
	UnknownTarget source.LintRule = "unknown-target"
	// UnknownOperation means that there is no such operation.
	UnknownOperation source.LintRule = "unknown-operation"
	// OneOperation means that a rule has no operation, or several.
	OneOperation source.LintRule = "one-operation"
	// NeedlessOverride means that a rule gives a reason but writes nothing reserved.
	NeedlessOverride source.LintRule = "needless-override"
	// SecretInName means that a name is computed from a Secret.
	SecretInName source.LintRule = "secret-in-name"
	// UnnamedContainer means that a rule edits a container without naming it.
	UnnamedContainer source.LintRule = "unnamed-container"
	// NoEffect means that a rule or a target has no effect.
	NoEffect source.LintRule = "no-effect"
	// TooEarly means that a rule edits a container that a later rule adds.
	TooEarly source.LintRule = "too-early"
	// Conflict means that two rules contradict each other.
	Conflict source.LintRule = "conflict"
	// UnknownFlag means that a version of the component does not have the flag.
	UnknownFlag source.LintRule = "unknown-flag"
	// FlagValue means that the flag does not accept the value.
	FlagValue source.LintRule = "flag-value"
	// UnknownGate means that a version of the component does not have the feature gate, or locks it.
	UnknownGate source.LintRule = "unknown-feature-gate"
	// UnknownPlugin means that a version of kube-apiserver does not have the admission plugin.
	UnknownPlugin source.LintRule = "unknown-admission-plugin"
	// Deprecated means that Kubernetes deprecates the flag or feature gate.
	Deprecated source.LintRule = "deprecated"
)

// stageFindings are the findings of all stages so far, and those that the documents had before.
type stageFindings struct {
	findings  source.Findings
	documents []*profile.Document
	// of holds the findings of each document.
	of map[*profile.Document]source.Findings
}

// Options are settings of an installation for all profiles.
type Options struct {
	// Generation is the generation of Gardener that is served.
	Generation contract.Generation
	// Kubernetes restricts the served versions; nil means all. Rules are checked only against the flags of these.
	Kubernetes *semver.Constraints
	// ImageOverwrite replaces images in the image vectors of profiles; nil means none.
	ImageOverwrite *image.Vector
	// Mark adds annotations to the patch that name the profiles with their versions and record the replaced values, so
	// that they can be restored.
	Mark bool
}

// compilation is the program that is being compiled from all profiles.
type compilation struct {
	program  *mutation.Program
	warnings source.Findings
	// partial holds the names of the targets with a rule that could not be compiled, because that rule may add parts
	// that other rules need.
	partial map[string]bool
}

// Compile checks and compiles the profiles. The error is of type source.Findings and contains all findings with their
// positions.
func Compile(profiles []*profile.Document, o Options) (*mutation.Program, error) {
	program, findings := Check(profiles, o)
	if program != nil {
		return program, nil
	}
	for _, document := range profiles {
		findings = append(findings, document.Findings...)
	}
	return nil, findings.Errors().Err()
}

// Check compiles the profiles and continues after each mistake: it compiles documents with findings as far as possible.
// It returns all findings and warnings, sorted, in addition to those of the documents, and omits consequences of
// another finding. The program is nil if the profiles cannot be used. Profiles for the other generation of Gardener are
// checked for that one, but not part of the program.
func Check(profiles []*profile.Document, o Options) (*mutation.Program, source.Findings) {
	own := slices.DeleteFunc(slices.Clone(profiles), func(d *profile.Document) bool { return !o.Generation.For(d.Gardener) })
	program, findings := check(own, o)
	if len(own) == len(profiles) {
		return program, findings
	}
	others := slices.DeleteFunc(slices.Clone(profiles), func(d *profile.Document) bool { return o.Generation.For(d.Gardener) })
	if o.Generation = contract.Labelled; contract.Today.For(others[0].Gardener) {
		o.Generation = contract.Today
	}
	other, more := check(others, o)
	findings = append(findings, more...)
	findings.Sort()
	if other == nil {
		return nil, findings
	}
	return program, findings
}

func check(profiles []*profile.Document, o Options) (*mutation.Program, source.Findings) {
	profiles = slices.SortedFunc(slices.Values(profiles), func(a, b *profile.Document) int {
		return strings.Compare(a.Metadata.Name, b.Metadata.Name)
	})
	versions := make([]mutation.ProfileVersion, len(profiles))
	found := &stageFindings{documents: profiles, of: map[*profile.Document]source.Findings{}}
	for i, document := range profiles {
		found.of[document] = slices.Clone(document.Findings)
		versions[i] = mutation.ProfileVersion{Name: document.Metadata.Name, Hash: document.Hash, Providers: document.Providers}
	}
	all := &compilation{program: mutation.NewProgram(o.Generation, o.Mark, versions), partial: map[string]bool{}}
	for _, document := range profiles {
		c := profileCompiler{all: all, document: document, options: o}
		c.compile()
		found.add(c.findings)
	}
	all.program.Complete()
	found.add(append(findConflicts(all.program), checkOrder(all)...))
	refused, warned := dryrun.Run(all.program, all.partial, !found.refused())
	warnings := found.beyond(append(all.warnings, found.sound(found.declared(warned))...))
	found.add(found.sound(refused))
	warnings.Sort()
	all.program.SetWarnings(warnings)
	findings := slices.Concat(found.findings, warnings)
	findings.Sort()
	if found.refused() {
		return nil, findings
	}
	return all.program, findings
}

// document returns the document that contains a position, or nil.
func (f *stageFindings) document(at source.Position) *profile.Document {
	var in *profile.Document
	for _, d := range f.documents {
		begin := d.Node.Position()
		if d.Node.File == at.File && begin.Line <= at.Line && (in == nil || begin.Line > in.Node.Position().Line) {
			in = d
		}
	}
	return in
}

// beyond returns the findings that are not consequences of earlier findings. It omits those that repeat another one for
// the same place, as for a rule or denial that is compiled for several objects.
func (f *stageFindings) beyond(findings source.Findings) source.Findings {
	type place struct {
		source.Position
		message string
	}
	var beyond source.Findings
	seen := map[place]bool{}
	for _, finding := range findings {
		earlier, at := f.of[f.document(finding.Position)], place{finding.Position, finding.Message}
		repeats := func(other source.Finding) bool { return at == place{other.Position, other.Message} }
		if finding.Column > 0 && (seen[at] || slices.ContainsFunc(earlier, repeats)) {
			continue
		}
		seen[at] = true
		beyond = append(beyond, source.Findings{finding}.Beyond(earlier)...)
	}
	return beyond
}

// add adds the findings of a stage.
func (f *stageFindings) add(findings source.Findings) {
	for _, finding := range f.beyond(findings) {
		d := f.document(finding.Position)
		f.findings = append(f.findings, finding)
		f.of[d] = append(f.of[d], finding)
	}
}

// sound returns the findings of rules that have no findings so far.
func (f *stageFindings) sound(findings source.Findings) source.Findings {
	return slices.DeleteFunc(findings, func(finding source.Finding) bool {
		return slices.ContainsFunc(f.of[f.document(finding.Position)], func(earlier source.Finding) bool {
			return earlier.File == finding.File && source.Within(earlier.Path, finding.Path)
		})
	})
}

// declared removes findings about denied samples if the declarations of the document have findings: the values of
// expressions are then unknown.
func (f *stageFindings) declared(findings source.Findings) source.Findings {
	return slices.DeleteFunc(findings, func(finding source.Finding) bool {
		return finding.Rule == dryrun.SampleDenied && slices.ContainsFunc(f.of[f.document(finding.Position)], func(earlier source.Finding) bool {
			return earlier.Severity == source.Error && !strings.HasPrefix(earlier.Path, string(target.ControlPlane))
		})
	})
}

// refused reports whether the profiles cannot be used.
func (f *stageFindings) refused() bool {
	for _, findings := range f.of {
		if len(findings.Errors()) > 0 {
			return true
		}
	}
	return len(f.findings) > 0
}

// Claims returns the webhooks for the objects that a profile is meant to mutate, as far as the profile can be parsed.
// Without the profile, these objects must not be admitted. A profile without a readable set claims every object of the
// contract in the control plane. Observed sets and retired profiles claim nothing.
func Claims(document *profile.Document) []mutation.Registration {
	if document.Retired || document.Mode == v1alpha1.ModeObserve {
		return nil
	}
	c := profileCompiler{document: document, all: &compilation{program: mutation.NewProgram(contract.Today, false, nil)}}
	read := false
	for _, set := range target.Sets() {
		entries := c.rulesOf(set)
		read = read || len(entries) > 0
		if slices.Contains(document.Observe, string(set)) {
			continue
		}
		for i, entry := range entries {
			at := fmt.Sprintf("%s.%s[%d]", set, v1alpha1.ObjectsField, i)
			for _, t := range claimed(entry, at) {
				c.put(set, entry, t, nil, at)
			}
		}
	}
	if !read {
		for _, t := range shootTargets() {
			c.put(target.ControlPlane, v1alpha1.TargetRules{}, t, nil, "")
		}
	}
	return slices.DeleteFunc(c.all.program.Registrations(), func(r mutation.Registration) bool { return !r.Garden && r.Provider == "" })
}

// claimed returns the targets of an entry of a set, or all targets of the contract if its name is unknown.
func claimed(entry v1alpha1.TargetRules, at string) []*target.Target {
	if t, _ := targetOf(entry, at); t != nil {
		return []*target.Target{t}
	}
	return shootTargets()
}

// shootTargets returns the targets of the contract in the control planes of shoots.
func shootTargets() []*target.Target {
	var all []*target.Target
	for _, name := range target.Names() {
		if t, _ := target.Lookup(name); !t.Garden {
			all = append(all, t)
		}
	}
	return all
}
