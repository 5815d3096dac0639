// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"cmp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Needs lists the facts that the rules of a selection use.
type Needs struct {
	Cluster, Object bool
	// Seed and CloudProfile are decoded before expressions are evaluated.
	Seed, CloudProfile bool

	Scopes  []*Scope // those that have a rule, in the order of the rules
	Lookups map[*Scope]map[string]bool
}

// plainOfObject lists the fields of an object that contain no secrets. Annotations may contain some: kubectl stores a
// copy of the object in one.
var plainOfObject = []string{"apiVersion", "kind", "name", "namespace", "labels"}

// namesOfCluster lists the variables that need the Cluster, the namespace or the Garden.
var namesOfCluster = []string{"shoot", "seed", "cloudProfile", "namespaceObject", "garden", "pool", ImagesName}

func (n *Needs) add(s *Scope, references []string, seen map[string]bool) {
	for _, reference := range references {
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		switch root {
		case LookupsName:
			n.addLookups(s, name, seen)
		case VariablesName:
			n.addVariables(s, name, seen)
		default:
			n.Cluster = n.Cluster || slices.Contains(namesOfCluster, root)
			n.Seed = n.Seed || root == "seed" || root == ImagesName
			n.CloudProfile = n.CloudProfile || root == "cloudProfile"
			n.Object = n.Object || root == "object" || root == "pool" || root == ImagesName
		}
	}
}

func (n *Needs) addVariables(s *Scope, name string, seen map[string]bool) {
	for _, declared := range s.Variables {
		if (name == "" || declared.Name == name) && !seen[declared.Name] {
			seen[declared.Name] = true
			n.add(s, declared.References(), seen)
		}
	}
}

// addLookups adds the named lookup, or all, with the needs of their object names.
func (n *Needs) addLookups(s *Scope, name string, seen map[string]bool) {
	for _, l := range s.Lookups {
		if (name == "" || l.Request.Name == name) && !n.Lookups[s][l.Request.Name] {
			n.Lookups[s][l.Request.Name] = true
			n.add(s, l.References(), seen)
		}
	}
}

// Reach returns the facts that expressions with these references need.
func (s *Scope) Reach(references []string) Needs {
	n := Needs{Lookups: map[*Scope]map[string]bool{s: {}}}
	n.add(s, references, map[string]bool{})
	return n
}

// NamesOf returns the Secrets among the referenced lookups. If own is true, it includes the object itself.
func (s *Scope) NamesOf(t *target.Target, references []string, own bool) []string {
	var names []string
	for _, l := range s.SecretsIn(references) {
		names = append(names, l.Shown)
	}
	if own {
		names = append(names, cmp.Or(t.Forms[0].Name, "*"))
	}
	return names
}

// RevealsObject reports whether a value with these references contains or may contain data of the object other than
// names and labels.
func (s *Scope) RevealsObject(references []string) bool {
	named := map[string]bool{}
	s.Expand(references, named)
	for reference := range named {
		if root, rest, _ := strings.Cut(reference, "."); root == "object" {
			if field, _, _ := strings.Cut(rest, "."); !slices.Contains(plainOfObject, field) {
				return true
			}
		}
	}
	return false
}

// Expand adds references to into, with the references of the variables and lookup names among them.
func (s *Scope) Expand(references []string, into map[string]bool) {
	for _, reference := range references {
		if into[reference] {
			continue
		}
		into[reference] = true
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		for _, declared := range s.Variables {
			if root == VariablesName && (name == "" || declared.Name == name) {
				s.Expand(declared.References(), into)
			}
		}
		for _, l := range s.Lookups {
			if root == LookupsName && (name == "" || l.Request.Name == name) {
				s.Expand(l.References(), into)
			}
		}
	}
}

// SecretsIn returns the lookups of Secrets that a value with these references contains or may contain, also through
// variables.
func (s *Scope) SecretsIn(references []string) []*Lookup {
	var secrets []*Lookup
	read := s.Reach(references).Lookups[s]
	for _, l := range s.Lookups {
		if read[l.Request.Name] && l.Request.IsSecret() {
			secrets = append(secrets, l)
		}
	}
	return secrets
}

// ReadsSecret reports whether the object is a Secret and a value with these references contains or may contain its
// data.
func (s *Scope) ReadsSecret(t *target.Target, references []string) bool {
	if form := t.Forms[0]; form.Group != "" || form.Kind != facts.Secret.Kind {
		return false
	}
	named := map[string]bool{}
	s.Expand(references, named)
	for reference := range named {
		if reference == "object" || reference == "object.data" || strings.HasPrefix(reference, "object.data.") {
			return true
		}
	}
	return false
}

// MarkSecrets marks the writes with values from Secrets; items holds the references of the surrounding forEach.
func (s *Scope) MarkSecrets(t *target.Target, writes []operation.Write, items []string) {
	for i := range writes {
		references := writes[i].Value.References()
		if UsesItem(references) {
			references = slices.Concat(references, items)
		}
		if names := s.NamesOf(t, references, s.ReadsSecret(t, references)); names != nil {
			writes[i] = writes[i].FromSecrets(names...)
		}
	}
}

// Decode decodes the used parts of the Cluster, so that an invalid part is found before expressions are evaluated.
func (n *Needs) Decode(f *facts.Facts) error {
	if n.Seed {
		if _, err := f.Seed.Get(); err != nil {
			return err
		}
	}
	if n.CloudProfile {
		if _, err := f.CloudProfile.Get(); err != nil {
			return err
		}
	}
	return nil
}
