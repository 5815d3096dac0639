// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Confided are the scalars of the step's value in which something of Secrets stands; nil where nothing does. It is for observers, before
// the object is done. The error is as that of computing the value.
func (s Step) Confided(ctx context.Context) ([]operation.Confided, error) {
	if s.secrecy == nil {
		return nil, nil
	}
	return s.secrecy.confided(ctx, s.write)
}

// Writes says whether the profile has the text in what its author wrote, so that it is known to all who know the profile.
func (s Step) Writes(text string) bool {
	return s.secrecy != nil && holds(s.secrecy.rule.scope.node, text)
}

// secrecy is what tells which parts of a value are made of Secrets.
type secrecy struct {
	rule      *rule
	variables operation.Variables
}

func (y *secrecy) confided(ctx context.Context, w *operation.Write) ([]operation.Confided, error) {
	whole := y.rule
	if whole.whole != nil {
		whole = whole.whole
	}
	s, items := y.rule.scope, whole.itemReferences()
	return w.Value.Confided(ctx, y.variables, operation.Confiding{
		Secrets:  func(references []string) []string { return s.secretsOf(whole.target, references, items) },
		Variable: s.valueOf,
	})
}

// secretsOf are the names of the Secrets of which a value with these references is made; items are the references of the forEach around it.
func (s *scope) secretsOf(t *target.Target, references, items []string) []string {
	if usesItem(references) {
		references = slices.Concat(references, items)
	}
	return s.namesOf(t, references, s.readsSecret(t, references))
}

// taint marks the writes whose values come from Secrets; items are the references of the forEach around them.
func (s *scope) taint(t *target.Target, writes []operation.Write, items []string) {
	for i := range writes {
		if names := s.secretsOf(t, writes[i].Value.References(), items); names != nil {
			writes[i] = writes[i].FromSecrets(names...)
		}
	}
}

// valueOf is the value of a variable by its dotted path, false for a field of one and for anything else.
func (s *scope) valueOf(path string) (operation.Value, bool) {
	name, ok := strings.CutPrefix(path, variablesName+".")
	if v := s.variableOf[name]; ok && v != nil {
		if v.template != nil {
			return operation.ValueOf(v.template), true
		}
		return v.tree, true
	}
	return operation.Value{}, false
}

// holds says whether a text stands in a scalar of a document.
func holds(n *yaml.Node, text string) bool {
	if n == nil {
		return false
	}
	return n.Kind == yaml.ScalarNode && strings.Contains(n.Value, text) ||
		slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return holds(child, text) })
}
