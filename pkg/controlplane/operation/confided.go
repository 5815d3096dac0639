// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// Confided is a scalar of a value with the parts of it that are made of Secrets.
type Confided struct {
	// Keys lead to it in a structured value: those of mappings, and the names of items.
	Keys []string
	Text string
	// Parts are in their order; what stands between them is made of no Secret.
	Parts []ConfidedPart
}

// ConfidedPart is a part of a text, from one byte to before another.
type ConfidedPart struct {
	From, To int
	// Secrets are those of which it is made, as profiles name them.
	Secrets []string
}

// Shown stands for the part wherever it would be shown.
func (p ConfidedPart) Shown() string { return fromSecrets(p.Secrets) }

// Confiding says what of values is made of Secrets.
type Confiding struct {
	// Secrets are those of which what has these references is made; nil: none.
	Secrets func(references []string) []string
	// Variable is the value of a variable by its dotted path, so that what its author wrote as it is can be told from what is computed.
	Variable func(path string) (Value, bool)
}

// ValueOf is the value of one template.
func ValueOf(template *expression.Template) Value {
	return Value{texts: []*expression.Template{template}}
}

// Confided computes the value again, and tells which of its scalars have in them what Secrets hold.
func (v Value) Confided(ctx context.Context, variables Variables, c Confiding) ([]Confided, error) {
	return v.confided(ctx, variables, c, nil)
}

func (v Value) confided(ctx context.Context, variables Variables, c Confiding, above []string) ([]Confided, error) {
	var all []Confided
	tell := func(template *expression.Template, keys []string) error {
		if c.Secrets(template.References()) == nil {
			return nil
		}
		keys = slices.Concat(above, keys)
		if path := template.Variable(); path != "" {
			if value, ok := c.Variable(path); ok {
				more, err := value.confided(ctx, variables, c, keys)
				all = append(all, more...)
				return err
			}
		}
		scalars, err := template.Scalars(ctx, variables, keys...)
		for _, scalar := range scalars {
			if found := c.confided(scalar); found.Parts != nil {
				all = append(all, found)
			}
		}
		return err
	}
	for _, text := range v.texts {
		if err := tell(text, nil); err != nil {
			return nil, err
		}
	}
	return all, v.tree.Templates(tell)
}

// confided is what of a scalar is made of Secrets.
func (c Confiding) confided(scalar expression.Scalar) Confided {
	found := Confided{Keys: scalar.Keys, Text: scalar.Text}
	for _, part := range scalar.Parts {
		if secrets := c.Secrets(part.References); secrets != nil {
			found.Parts = append(found.Parts, ConfidedPart{part.From, part.To, secrets})
		}
	}
	return found
}
