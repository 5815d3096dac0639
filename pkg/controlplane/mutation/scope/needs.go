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

// Needs lists the facts that expressions use.
type Needs struct {
	Cluster, Object bool
	// Seed and CloudProfile are decoded before expressions are evaluated.
	Seed, CloudProfile bool
	// Lookups are sorted by name.
	Lookups []*Lookup
}

// plainOfObject lists the fields of an object and of its metadata that contain no secrets. Annotations may contain some:
// kubectl stores a copy of the object in one.
var plainOfObject = []string{"apiVersion", "kind", "name", "namespace", "labels"}

// namesOfCluster lists the variables that need the Cluster, the namespace or the Garden.
var namesOfCluster = []string{"shoot", "seed", "cloudProfile", "namespaceObject", "garden", "pool", ImagesName}

// Reach returns the facts that expressions with these references need, also through variables and names of lookups.
func (s *Scope) Reach(references []string) Needs {
	var n Needs
	named := map[string]bool{}
	for reference := range s.Expand(references) {
		root, name := SplitReference(reference)
		if root == LookupsName {
			named[name] = true
		}
		n.Cluster = n.Cluster || slices.Contains(namesOfCluster, root)
		n.Seed = n.Seed || root == "seed" || root == ImagesName
		n.CloudProfile = n.CloudProfile || root == "cloudProfile"
		n.Object = n.Object || root == "object" || root == "pool" || root == ImagesName
	}
	for _, l := range s.Lookups {
		if named[""] || named[l.Request.Name] {
			n.Lookups = append(n.Lookups, l)
		}
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

// SplitReference returns the variable of a dotted path, and its first field, which is empty for the variable itself.
func SplitReference(reference string) (root, field string) {
	root, rest, _ := strings.Cut(reference, ".")
	field, _, _ = strings.Cut(rest, ".")
	return root, field
}

// NamesOf returns the Secrets that a value with these references contains or may contain: those of lookups, and the
// object itself.
func (s *Scope) NamesOf(t *target.Target, references []string) []string {
	var names []string
	for _, l := range s.SecretsIn(references) {
		names = append(names, l.Shown)
	}
	if form := t.Forms[0]; form.Group == "" && form.Kind == facts.Secret.Kind && s.RevealsObject(references) {
		names = append(names, cmp.Or(form.Name, "*"))
	}
	return names
}

// RevealsObject reports whether a value with these references contains or may contain data of the object other than
// names and labels.
func (s *Scope) RevealsObject(references []string) bool {
	for reference := range s.Expand(references) {
		root, field := SplitReference(reference)
		if field == "metadata" {
			_, field = SplitReference(strings.TrimPrefix(reference, root+"."))
		}
		if root == "object" && !slices.Contains(plainOfObject, field) {
			return true
		}
	}
	return false
}

// SecretsIn returns the lookups of Secrets that a value with these references contains or may contain, also through
// variables.
func (s *Scope) SecretsIn(references []string) []*Lookup {
	return slices.DeleteFunc(s.Reach(references).Lookups, func(l *Lookup) bool { return !l.Request.IsSecret() })
}

// MarkSecrets marks the writes with values from Secrets; items holds the references of the surrounding forEach.
func (s *Scope) MarkSecrets(t *target.Target, writes []operation.Write, items []string) {
	for i := range writes {
		references := writes[i].Value.References()
		if UsesItem(references) {
			references = slices.Concat(references, items)
		}
		if names := s.NamesOf(t, references); names != nil {
			writes[i] = writes[i].FromSecrets(names...)
		}
	}
}
