// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Compile checks the profiles and makes them ready to run. The error is source.Findings: all that is wrong, with positions.
func Compile(profiles []*profile.Document, o Options) (*Program, error) {
	program, findings := Check(profiles, o)
	if program != nil {
		return program, nil
	}
	for _, document := range profiles {
		findings = append(findings, document.Findings...)
	}
	return nil, findings.Errors().Err()
}

// Check compiles the profiles and goes on after each mistake: documents that have findings are compiled as far as that is possible.
// It gives all findings and warnings beside those that the documents have, sorted, and none that only follows from another. The
// program is nil where the profiles cannot be used.
func Check(profiles []*profile.Document, o Options) (*Program, source.Findings) {
	p := &Program{generation: o.Generation, marks: o.Mark, scopes: map[scopeKey]map[formKey]*selection{}, partial: map[string]bool{}, memory: newMemory()}
	profiles = slices.SortedFunc(slices.Values(profiles), func(a, b *profile.Document) int {
		return strings.Compare(a.Metadata.Name, b.Metadata.Name)
	})
	found := newFound(profiles)
	for _, document := range profiles {
		p.profiles = append(p.profiles, ProfileVersion{document.Metadata.Name, document.Hash, document.Providers})
		c := profileCompiler{program: p, document: WithLookups(document), options: o}
		c.compile()
		found.add(c.findings)
	}
	p.inherit()
	found.add(append(p.conflicts(), p.order()...))
	p.settle()
	refused, warned := p.rehearse(!found.refused())
	p.warnings = found.beyond(append(p.warnings, found.sound(found.declared(warned))...))
	found.add(found.sound(refused))
	p.warnings.Sort()
	all := slices.Concat(found.findings, p.warnings)
	all.Sort()
	if found.refused() {
		return nil, all
	}
	return p, all
}

// found are the findings of all stages so far, and those that the documents had before.
type found struct {
	findings source.Findings
	// starts are the documents by file, in the order in which they stand there; of is what is wrong with each.
	starts map[string][]*profile.Document
	of     map[*profile.Document]source.Findings
}

func newFound(documents []*profile.Document) *found {
	f := &found{starts: map[string][]*profile.Document{}, of: map[*profile.Document]source.Findings{}}
	for _, d := range documents {
		f.of[d] = slices.Clone(d.Findings)
		f.starts[d.Node.File] = append(f.starts[d.Node.File], d)
	}
	for _, inFile := range f.starts {
		slices.SortFunc(inFile, func(a, b *profile.Document) int { return a.Node.Position().Line - b.Node.Position().Line })
	}
	return f
}

// document is the one in which a position is; nil for none.
func (f *found) document(at source.Position) *profile.Document {
	var in *profile.Document
	for _, d := range f.starts[at.File] {
		if d.Node.Position().Line <= at.Line {
			in = d
		}
	}
	return in
}

// beyond are the findings that do not follow from those so far.
func (f *found) beyond(findings source.Findings) source.Findings {
	var beyond source.Findings
	for _, finding := range findings {
		beyond = append(beyond, source.Findings{finding}.Beyond(f.of[f.document(finding.Position)])...)
	}
	return beyond
}

// add adds the findings of a stage. What was said of the same place in the same words, of a lookup that a rule makes by itself, is not
// said of the rule too.
func (f *found) add(findings source.Findings) {
	for _, finding := range f.beyond(findings) {
		d := f.document(finding.Position)
		if finding.Column > 0 && slices.ContainsFunc(f.of[d], func(earlier source.Finding) bool {
			return earlier.Position == finding.Position && earlier.Message == finding.Message
		}) {
			continue
		}
		f.findings = append(f.findings, finding)
		f.of[d] = append(f.of[d], finding)
	}
}

// sound are the findings of rules with which nothing is wrong so far.
func (f *found) sound(findings source.Findings) source.Findings {
	return slices.DeleteFunc(findings, func(finding source.Finding) bool {
		return slices.ContainsFunc(f.of[f.document(finding.Position)], func(earlier source.Finding) bool {
			return earlier.File == finding.File && source.Within(earlier.Path, finding.Path)
		})
	})
}

// declared leaves out that samples would be denied where something is wrong with what the document declares: nobody knows what expressions
// see then.
func (f *found) declared(findings source.Findings) source.Findings {
	return slices.DeleteFunc(findings, func(finding source.Finding) bool {
		return finding.Rule == SampleDenied && slices.ContainsFunc(f.of[f.document(finding.Position)], func(earlier source.Finding) bool {
			return earlier.Severity == source.Error && !strings.HasPrefix(earlier.Path, string(target.ControlPlane))
		})
	})
}

// refused says whether the profiles cannot be used.
func (f *found) refused() bool {
	for _, findings := range f.of {
		if len(findings.Errors()) > 0 {
			return true
		}
	}
	return len(f.findings) > 0
}
