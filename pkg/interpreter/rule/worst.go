// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// worst compiles the first value of an order that a member has.
func (c *compiler) worst(p place, spec *v1alpha1.InterpretWorst) combine {
	if spec == nil {
		c.add(p, source.MissingField, "is empty")
		return nil
	}
	c.needed(p, "path", spec.Path)
	at, by := c.inStatus(p.At("path"), spec.Path), c.path(p.At("by"), spec.By)
	if len(spec.Order) == 0 {
		c.add(p.At("order"), source.MissingField, "is missing: the values from the worst to the best")
	}
	order := map[string]int{}
	for i, value := range spec.Order {
		if _, double := order[value.Value]; double {
			c.add(p.At("order").Item(i), source.DuplicateName, "%q stands twice", value.Value)
		}
		order[value.Value] = i + 1
	}
	return func(q *question) ([]byte, error) {
		var (
			chosen []byte
			rank   int
		)
		for _, f := range q.take(at) {
			judged := by.find(f.Node)
			if judged == nil {
				continue
			}
			word, ok := judged.Text()
			if !ok {
				if kind := judged.Kind(); kind == document.Object || kind == document.Array {
					return nil, found{f.member, judged}.misfit(path{text: at.text + dotted(by), at: cmp.Or(by.at, at.at)}, "a text")
				}
				word = string(judged.Raw())
			}
			if of := order[word]; chosen == nil || of < rank {
				chosen, rank = f.Raw(), of
			}
		}
		return chosen, nil
	}
}

// dotted is a path behind another one.
func dotted(p path) string {
	if p.text == "" {
		return ""
	}
	return "." + p.text
}

// severities of a condition's status from the worst: of one that is good when true, and of one that is bad then. All others come before the best.
var (
	positive = []string{"False", "Unknown"}
	negative = []string{"True", "Unknown"}
)

// severity of a status: 0 is the worst.
func severity(status *document.Node, bad bool) int {
	order, best := positive, "True"
	if bad {
		order, best = negative, "False"
	}
	if i := slices.IndexFunc(order, status.Is); i >= 0 {
		return i
	}
	if status.Is(best) {
		return len(order) + 1
	}
	return len(order)
}

// worstConditions compiles one condition of each type, the worst that a member has.
func (c *compiler) worstConditions(p place, spec *v1alpha1.InterpretConditions) combine {
	if spec == nil {
		c.add(p, source.MissingField, "is empty")
		return nil
	}
	c.needed(p, "path", spec.Path)
	at := c.inStatus(p.At("path"), spec.Path)
	bad := map[string]bool{}
	for i, t := range spec.Negative {
		if bad[t.Value] {
			c.add(p.At("negative").Item(i), source.DuplicateName, "%q stands twice", t.Value)
		}
		if t.Value == "" {
			c.add(p.At("negative").Item(i), source.WrongValue, "is empty")
		}
		bad[t.Value] = true
	}
	return func(q *question) ([]byte, error) {
		var (
			name   []byte
			chosen = make([]*document.Node, 0, usualConditions)
			ranks  = make([]int, 0, usualConditions)
			places = map[string]int{} // in those, by type
		)
		all := q.take(at)
		for _, f := range all {
			if f.Kind() != document.Array {
				return nil, f.misfit(at, "a list")
			}
			for _, condition := range f.Items() {
				var typed bool
				name, typed = condition.Get("type").AppendText(name[:0])
				status := condition.Get("status")
				if !typed || status.Kind() != document.String {
					return nil, unfit("%s: the member %s: a condition in status.%s has no type or no status", at.at, f.Cluster, at.text)
				}
				rank := severity(status, bad[string(name)])
				if i, known := places[string(name)]; !known {
					places[string(name)] = len(chosen)
					chosen, ranks = append(chosen, condition), append(ranks, rank)
				} else if rank < ranks[i] {
					chosen[i], ranks[i] = condition, rank
				}
			}
		}
		if len(all) == 0 {
			return nil, nil
		}
		return q.listOf(chosen), nil
	}
}

// usualConditions are as many types of conditions as most objects have, so that there is room for them at once.
const usualConditions = 8

// listOf writes a list of places as they are written where they stand.
func (q *question) listOf(items []*document.Node) []byte {
	out := q.out[:0]
	out = append(out, '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item.Raw()...)
	}
	return q.wrote(append(out, ']'))
}
