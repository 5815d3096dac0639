// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
)

// program are profiles as a test needs them, compiled once for all tests that need them so.
type program struct {
	documents  []*profile.Document
	generation contract.Generation
	*mutation.Program
	// rules lists all rules, initially without any test.
	rules []golden.RuleOutcome
	// places lists the places that each rule writes.
	places map[source.Position][]operation.Place
	err    error
}

// programs caches programs by their inputs.
type programs map[string]*program

// load reads the profiles with these parameters; fresh says that they are still to be compiled.
func (p programs) load(paths []string, g contract.Generation, parameters map[string]source.Node) (loaded *program, fresh bool) {
	values, err := json.Marshal(plainValues(parameters))
	key := fmt.Sprintf("%s\x00%v\x00%s", strings.Join(paths, "\x00"), g, values)
	if known := p[key]; known != nil {
		return known, false
	}
	loaded = &program{generation: g}
	p[key] = loaded
	if err != nil {
		loaded.err = fmt.Errorf("reading parameters: %w", err)
		return loaded, false
	}
	loaded.documents, loaded.err = loadProfiles(paths, parameters)
	return loaded, loaded.err == nil
}

func loadProfiles(paths []string, parameters map[string]source.Node) ([]*profile.Document, error) {
	if len(paths) == 0 {
		return nil, golden.ErrNoProfile
	}
	files, err := folder.Read(paths...)
	if err != nil {
		return nil, err
	}
	documents, err := profile.Guard(files, func(files []source.File) ([]*profile.Document, error) {
		documents, findings := profile.Load(files...)
		return documents, findings.Err()
	})
	if err != nil {
		return nil, err
	}
	var findings source.Findings
	overrides := profile.Parameters{}
	for name, value := range parameters {
		known := false
		for _, document := range documents {
			if _, ok := document.Parameters[name]; ok || len(documents) == 1 {
				if overrides[document.Metadata.Name] == nil {
					overrides[document.Metadata.Name] = map[string]source.Node{}
				}
				overrides[document.Metadata.Name][name], known = value, true
			}
		}
		if !known {
			findings = append(findings, value.Finding("parameters."+name, "no profile has such a parameter"))
		}
	}
	findings = append(findings, overrides.Override(documents)...)
	return documents, findings.Err()
}

// provider returns the cloud of the first profile.
func (p *program) provider() string {
	if len(p.documents) == 0 || len(p.documents[0].Providers) == 0 {
		return ""
	}
	return p.documents[0].Providers[0]
}

func (p *program) compile() {
	p.Program, p.err = profile.Guard(p.files(), func(files []source.File) (*mutation.Program, error) {
		return mutation.Compile(slices.DeleteFunc(slices.Clone(p.documents), func(d *profile.Document) bool {
			return !slices.ContainsFunc(files, func(f source.File) bool { return f.Name == d.Node.File })
		}), mutation.Options{Generation: p.generation})
	})
	if p.err == nil {
		p.rules = p.listRules()
	}
}

// files name the files of the profiles, each once.
func (p *program) files() []source.File {
	var files []source.File
	for _, d := range p.documents {
		if !slices.ContainsFunc(files, func(f source.File) bool { return f.Name == d.Node.File }) {
			files = append(files, source.File{Name: d.Node.File})
		}
	}
	return files
}

// listRules returns the rules, each once, as never reached.
func (p *program) listRules() []golden.RuleOutcome {
	conditional := map[source.Position]bool{}
	for _, document := range p.documents {
		for _, denial := range document.Deny {
			conditional[denial.Name.At.Position()] = true
		}
		for _, set := range []v1alpha1.Set{document.ControlPlane, document.ControlPlaneExposure, document.ControlPlaneBackup} {
			for _, entry := range set {
				for _, rule := range entry.Rules {
					conditional[rule.At.Position()] = !rule.When.Absent()
				}
			}
		}
	}
	var rules []golden.RuleOutcome
	seen := map[source.Position]bool{}
	p.places = map[source.Position][]operation.Place{}
	for _, info := range p.Rules() {
		p.places[info.Position] = append(p.places[info.Position], info.Places...)
		if !seen[info.Position] {
			seen[info.Position] = true
			rules = append(rules, golden.RuleOutcome{Rule: golden.Rule{
				Document: info.Profile, Name: ruleTitle(info), At: info.Position, Conditional: conditional[info.Position],
			}})
		}
	}
	return rules
}

// ruleTitle names a rule with its target, which a rule without a name has in its name already.
func ruleTitle(info mutation.RuleInfo) string {
	if strings.HasPrefix(info.Name, info.Target.Name+"[") {
		return info.Name
	}
	return info.Target.Name + ": " + info.Name
}

// tally holds the outcomes of the rules in a case.
type tally struct {
	rules  []golden.RuleOutcome
	places map[source.Position]int
}

func (p *program) tally() tally {
	t := tally{rules: append([]golden.RuleOutcome(nil), p.rules...), places: map[source.Position]int{}}
	for i := range t.rules {
		t.places[t.rules[i].At] = i
	}
	return t
}

var effects = map[mutation.Outcome]golden.Effect{
	mutation.Skipped: golden.Skipped, mutation.Observed: golden.Observed, mutation.Overridden: golden.Overridden,
	mutation.Unchanged: golden.Unchanged, mutation.Changed: golden.Changed, mutation.Denied: golden.Changed,
}

func (t tally) add(applied []mutation.Applied) {
	for _, a := range applied {
		i, ok := t.places[a.Position]
		if !ok {
			continue
		}
		r := &t.rules[i]
		r.Effect = max(r.Effect, effects[a.Outcome])
		switch {
		case !r.Conditional:
		case a.Outcome != mutation.Skipped:
			r.Held = true
		case a.Reason == mutation.ConditionFalse:
			r.Failed = true
		}
	}
}
