// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"cmp"
	"iter"
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

// Reach returns the facts that expressions with these references need, also through variables and names of lookups.
func (s *Scope) Reach(references []string) Needs {
	n := Needs{Lookups: map[*Scope]map[string]bool{s: {}}}
	for reference := range s.Expand(references) {
		root, name := SplitReference(reference)
		for _, l := range s.Lookups {
			if root == LookupsName && (name == "" || l.Request.Name == name) {
				n.Lookups[s][l.Request.Name] = true
			}
		}
		n.Cluster = n.Cluster || slices.Contains(namesOfCluster, root)
		n.Seed = n.Seed || root == "seed" || root == ImagesName
		n.CloudProfile = n.CloudProfile || root == "cloudProfile"
		n.Object = n.Object || root == "object" || root == "pool" || root == ImagesName
	}
	return n
}

// Expand returns the references with those of the variables and lookup names among them.
func (s *Scope) Expand(references []string) map[string]bool {
	all := map[string]bool{}
	var visit func(references []string)
	visit = func(references []string) {
		for _, reference := range references {
			if all[reference] {
				continue
			}
			all[reference] = true
			root, name := SplitReference(reference)
			for _, declared := range s.Variables {
				if root == VariablesName && (name == "" || declared.Name == name) {
					visit(declared.References())
				}
			}
			for _, l := range s.Lookups {
				if root == LookupsName && (name == "" || l.Request.Name == name) {
					visit(l.References())
				}
			}
		}
	}
	visit(references)
	return all
}

// Used returns the lookups that the rules use, with their scopes.
func (n *Needs) Used() iter.Seq2[*Scope, *Lookup] {
	return func(yield func(*Scope, *Lookup) bool) {
		for _, s := range n.Scopes {
			for _, l := range s.Lookups {
				if n.Lookups[s][l.Request.Name] && !yield(s, l) {
					return
				}
			}
		}
	}
}

// SplitReference returns the variable of a dotted path, and its first field, which is empty for the variable itself.
func SplitReference(reference string) (root, field string) {
	root, rest, _ := strings.Cut(reference, ".")
	field, _, _ = strings.Cut(rest, ".")
	return root, field
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
	for reference := range s.Expand(references) {
		if root, field := SplitReference(reference); root == "object" && !slices.Contains(plainOfObject, field) {
			return true
		}
	}
	return false
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
	for reference := range s.Expand(references) {
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
