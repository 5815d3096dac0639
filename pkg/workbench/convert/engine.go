// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// proposer makes one proposal.
type proposer struct {
	context  context.Context
	options  Options
	subjects []*subject
	secrets  secrets
	// kubernetes is the constraint on versions.
	kubernetes string
}

// load compiles the rules; the findings are what the engine has against them, by rule.
func (p *proposer) load(rules []*rule) (*mutation.Program, map[*rule]source.Findings, error) {
	written, err := p.write(rules, p.kubernetes)
	if err != nil {
		return nil, nil, err
	}
	documents, findings := profile.Load(source.File{Name: "proposal", Data: written})
	if len(findings) > 0 || len(documents) != 1 {
		return nil, nil, findings.Err()
	}
	program, err := mutation.Compile(documents, mutation.Options{Generation: p.options.Generation})
	if err == nil {
		return program, nil, nil
	}
	if !errors.As(err, &findings) {
		return nil, nil, err
	}
	blamed := map[*rule]source.Findings{}
	paths := pathsOf(documents[0])
	for _, finding := range findings {
		i := slices.IndexFunc(paths, func(path string) bool {
			rest, ok := strings.CutPrefix(finding.Path, path)
			return ok && (rest == "" || rest[0] == '.')
		})
		if i < 0 || i >= len(rules) {
			return nil, nil, findings
		}
		blamed[rules[i]] = append(blamed[rules[i]], source.Finding{
			Position: finding.Position, Path: strings.TrimPrefix(finding.Path, paths[i]), Message: finding.Message,
		})
	}
	return nil, blamed, nil
}

// pathsOf are the paths of all rules, in the order in which they are written.
func pathsOf(d *profile.Document) []string {
	var paths []string
	for _, targets := range slices.Concat(d.ControlPlane, d.ControlPlaneExposure, d.ControlPlaneBackup) {
		for _, r := range targets.Rules {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// compile is load without saying what is wrong.
func (p *proposer) compile(rules []*rule) *mutation.Program {
	name(rules)
	program, _, err := p.load(rules)
	if err != nil {
		return nil
	}
	return program
}

// accept leaves out what the engine refuses, until it takes the rest. A value with an expression is tried without it first.
func (p *proposer) accept(variants []*variant) (*mutation.Program, []*rule, error) {
	for range 2*len(variants) + 1 {
		rules := p.arrange(variants)
		if len(rules) == 0 {
			return nil, nil, nil
		}
		program, blamed, err := p.load(rules)
		if err != nil || program != nil {
			return program, rules, err
		}
		for r, findings := range blamed {
			for _, finding := range findings {
				for _, v := range r.blamed(finding) {
					v.refuse(p.secrets.told(finding.Message))
				}
			}
		}
	}
	return nil, nil, errors.New("the engine refuses the proposal in ever new ways")
}

// refuse takes the expressions out of a variant, or else the variant out of the rules.
func (v *variant) refuse(message string) {
	if v.guessed {
		v.value, v.guessed = v.literal, false
		v.notes = slices.DeleteFunc(v.notes, func(note string) bool { return strings.HasPrefix(note, guess) || strings.HasPrefix(note, differing) })
		return
	}
	v.refused = message
}

// blamed are the variants of a rule that a finding is about: those at its path, or all.
func (r *rule) blamed(finding source.Finding) []*variant {
	var found []*variant
	for _, v := range r.variants {
		path := "." + v.atom.operation
		for _, step := range v.atom.path {
			if step != item {
				path += "." + step
			}
		}
		if v.atom.whole() || !leads(path, finding.Path) && !leads(finding.Path, path) {
			continue
		}
		if name, isText := v.value.(string); v.atom.path[len(v.atom.path)-1] == item && isText && !strings.Contains(finding.Message, name) {
			continue
		}
		found = append(found, v)
	}
	if len(found) == 0 {
		return r.variants
	}
	return found
}

// leads says whether a path is another one or leads to it.
func leads(path, to string) bool {
	rest, ok := strings.CutPrefix(to, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// admit takes an object through all sets of a program; nil when nothing changes.
func (p *proposer) admit(program *mutation.Program, s *subject, object []byte) ([]byte, error) {
	var changed []byte
	facts := s.source(p.options.Provider)
	for _, registration := range program.Registrations() {
		if registration.Garden != s.garden || !slices.ContainsFunc(registration.Forms, s.isOf) {
			continue
		}
		result, err := program.Admit(p.context, mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: "CREATE",
			Namespace: s.object.Namespace, Name: s.object.Name, Group: s.form.Group, Version: s.form.Version, Kind: s.form.Kind, Object: object,
		}, facts)
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
		changed = object
	}
	return changed, nil
}

// isOf says whether the object is of a form, which may have the beginning of a name.
func (s *subject) isOf(f target.Form) bool {
	prefix, ok := strings.CutSuffix(f.Name, "*")
	return f.Is(s.form.Group, s.form.Kind, s.object.Name) || ok && f.Group == s.form.Group && f.Kind == s.form.Kind && strings.HasPrefix(s.object.Name, prefix)
}
