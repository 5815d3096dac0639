// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Term is a part of an expression, what it came to, and why. It holds no value of a Secret.
type Term struct {
	// Text is the part as CEL writes it, in one line; Position is where it begins.
	Text     string
	Position source.Position
	// Value is what it came to, for people; empty where From, Failed or Skipped say why there is none.
	Value string
	// From are the Secrets of which the value is made, so that it is not shown.
	From []string
	// Failed is why it came to nothing.
	Failed string
	// Skipped says that it was not evaluated, as another part had decided already.
	Skipped bool
	// Terms are the parts that had a say in it; below a variable of the profile those of its expression.
	Terms []Term
	// Each says, of a macro such as exists, what its condition came to for each Item up to the one that decided; More counts the items
	// that are left out.
	Each []Term
	More int
	// Item is what the item is called that a term in Each is about.
	Item string
}

// term makes a term fit to be shown; secret are the Secrets of which the items of the rule are made.
func (e *explainer) term(r *rule, from expression.Term, variables operation.Variables, secret []string) Term {
	t := Term{Text: from.Text, Position: from.Position, Skipped: from.Skipped, More: from.More}
	references := slices.Concat(from.References, from.Items)
	t.From = r.scope.secretNames(r.target, references)
	if usesItem(references) {
		t.From = append(t.From, secret...)
	}
	switch {
	case from.Skipped:
		t.From = nil
	case from.Failed != nil:
		t.Failed, t.From = failedBecause(from.Failed), nil
	case t.From == nil:
		t.Value = describeTerm(from)
	}
	for _, below := range from.Terms {
		t.Terms = append(t.Terms, e.term(r, below, variables, secret))
	}
	for i, item := range from.Each {
		below := e.term(r, item, variables, secret)
		below.Item = fmt.Sprint(i)
		if r.scope.secretNames(r.target, item.Items) == nil && (secret == nil || !usesItem(item.Items)) {
			below.Item = labelOf(item.Item, i)
		}
		t.Each = append(t.Each, below)
	}
	if len(from.Terms)+len(from.Each) == 0 && !from.Skipped {
		t.Terms = e.meanings(r, from.References, variables)
	}
	return t
}

// meanings explain the variables of the profile that a part names.
func (e *explainer) meanings(r *rule, references []string, variables operation.Variables) []Term {
	var terms []Term
	for _, name := range variablesIn(references) {
		if declared := r.scope.variableOf[name]; declared != nil && declared.template != nil && !declared.template.Constant() {
			terms = append(terms, e.templateTerms(r, declared.template, variables, nil)...)
		}
	}
	return terms
}

func (e *explainer) templateTerms(r *rule, template *expression.Template, variables operation.Variables, secret []string) []Term {
	if template == nil {
		return nil
	}
	found, err := template.Explain(e.ctx, variables)
	if err != nil {
		return nil
	}
	var terms []Term
	for _, term := range found {
		terms = append(terms, e.term(r, term, variables, secret))
	}
	return terms
}

// failedBecause is the message of an evaluation that failed: its position is that of the term, or in it.
func failedBecause(err error) string {
	var failed *expression.EvaluationError
	if errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

func describeTerm(t expression.Term) string { return expression.Describe(t.Value) }

// secretNames are the Secrets of which a value with these references is or may be made; nil: none.
func (s *scope) secretNames(t *target.Target, references []string) []string {
	return s.namesOf(t, references, s.tellsSecret(t, references))
}

// namesOf are the Secrets among the lookups that references name, and the object itself where own says that it is one of which something is told.
func (s *scope) namesOf(t *target.Target, references []string, own bool) []string {
	var names []string
	for _, l := range s.secretsIn(references) {
		names = append(names, l.shown)
	}
	if own {
		names = append(names, cmp.Or(t.Forms[0].Name, "*"))
	}
	return names
}

// plainOfObject are the fields of an object that hold nothing secret. Annotations may: kubectl keeps a copy of the object in one.
var plainOfObject = []string{"apiVersion", "kind", "name", "namespace", "labels"}

// tellsSecret says whether a value with these references is or may be made of what a Secret holds that is admitted itself.
func (s *scope) tellsSecret(t *target.Target, references []string) bool {
	form := t.Forms[0]
	return form.Group == "" && form.Kind == facts.Secret.Kind && s.tellsObject(references)
}

// tellsObject says whether a value with these references is or may be made of what the object holds beside its names and labels.
func (s *scope) tellsObject(references []string) bool {
	named := map[string]bool{}
	s.expand(references, named)
	for reference := range named {
		if root, rest, _ := strings.Cut(reference, "."); root == "object" {
			if field, _, _ := strings.Cut(rest, "."); !slices.Contains(plainOfObject, field) {
				return true
			}
		}
	}
	return false
}
