// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// combine computes one value from those of the members, or nil if there is none.
type combine func(q *question) ([]byte, error)

// way is a way to combine the values at a path, which must be of a kind; Invalid permits all kinds.
type way struct {
	kind document.Kind
	of   combination
}

// combination computes one value from the members' values at a path.
type combination func(q *question, at path, all []found) ([]byte, error)

// ways are the ways that need only a path, by their fields.
var ways = map[string]way{
	"min": {document.Number, extreme(func(a, b float64) bool { return a < b })},
	"max": {document.Number, extreme(func(a, b float64) bool { return a > b })},
	"all": {document.Bool, truth(func(count, members int) bool { return count == members })},
	"any": {document.Bool, truth(func(count, _ int) bool { return count > 0 })},
	"sum": {document.Number, sum}, "same": {document.Invalid, agreed}, "first": {document.Invalid, first}, "join": {document.String, join},
	"common": {document.Array, common},
}

// combine combines the values at a path.
func (w way) combine(at path) combine {
	return func(q *question) ([]byte, error) {
		all, err := q.typed(at, w.kind)
		if err != nil {
			return nil, err
		}
		return w.of(q, at, all)
	}
}

// misfit returns the failure for a member's value that is not of a kind.
func (f found) misfit(at path, kind document.Kind) error {
	return unfit("%s: the member %s: status.%s is %s, and must be %s", at.at, f.Cluster, at.text, word(f.Node), words[kind])
}

// typed returns the members' values at a path, sorted by cluster, without missing ones. It fails if a value is not of the
// kind; Invalid permits all kinds.
func (q *question) typed(at path, kind document.Kind) ([]found, error) {
	all := make([]found, 0, len(q.members))
	for _, m := range q.members {
		f := found{m, at.find(m.status.Root())}
		if f.Node == nil {
			continue
		}
		if kind != document.Invalid && f.Kind() != kind {
			return nil, f.misfit(at, kind)
		}
		all = append(all, f)
	}
	return all, nil
}

// sum adds numbers. The result is exact if all are whole.
func sum(_ *question, at path, all []found) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	var (
		whole int64
		float float64
		exact = true
	)
	for _, f := range all {
		switch n := numeric(f.Node).(type) {
		case int64:
			if added := whole + n; (added > whole) != (n > 0) && n != 0 {
				return nil, tooLarge(at)
			}
			whole += n
			float += float64(n)
		case float64:
			exact = false
			float += n
		}
	}
	switch {
	case exact:
		return strconv.AppendInt(nil, whole, 10), nil
	case math.Abs(float) >= math.MaxInt64: // beyond all numbers in Kubernetes
		return nil, tooLarge(at)
	}
	return []byte(strings.ToLower(strconv.FormatFloat(float, 'g', -1, 64))), nil
}

func tooLarge(at path) error { return unfit("%s: status.%s: the sum is too large", at.at, at.text) }

// extreme returns the best number, in its original notation.
func extreme(better func(a, b float64) bool) combination {
	return func(_ *question, at path, all []found) (best []byte, err error) {
		var than float64
		for _, f := range all {
			n, err := strconv.ParseFloat(string(f.Raw()), 64)
			if err != nil {
				return nil, unfit("%s: the member %s: status.%s is too large", at.at, f.Cluster, at.text)
			}
			if best == nil || better(n, than) {
				best, than = f.Raw(), n
			}
		}
		return best, nil
	}
}

// truth judges the number of members whose value is true.
func truth(judge func(count, members int) bool) combination {
	return func(q *question, _ path, all []found) ([]byte, error) {
		if len(q.members) == 0 {
			return nil, nil
		}
		count := 0
		for _, f := range all {
			if f.Raw()[0] == 't' {
				count++
			}
		}
		return strconv.AppendBool(nil, judge(count, len(q.members))), nil
	}
}

// agreed returns the value if all members that have one agree.
func agreed(q *question, at path, all []found) ([]byte, error) {
	for _, f := range all {
		if !f.Equal(all[0].Node) {
			return nil, nil
		}
	}
	return first(q, at, all)
}

// first returns the value of the first member that has one.
func first(_ *question, _ path, all []found) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	return all[0].Raw(), nil
}

// separator separates the texts of members.
const separator = "; "

// join returns the texts of all members, prefixed with the cluster's name. The text of a single member has no
// prefix.
func join(q *question, _ path, all []found) ([]byte, error) {
	var texts []string
	for _, f := range all {
		text, _ := f.Text()
		switch {
		case text == "":
			continue
		case len(q.members) == 1:
			return f.Raw(), nil
		}
		texts = append(texts, f.Cluster+": "+text)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	return bytes.Clone(document.Quote(strings.Join(texts, separator))), nil
}

// union returns the items of all lists, each once. It fails if items with the same key differ.
func union(at, key, prefix path) combine {
	return func(q *question) ([]byte, error) {
		all, err := q.typed(at, document.Array)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		var items []*document.Node
		seen := map[string]*document.Node{}
		for _, f := range all {
			for _, came := range f.Items() {
				item, err := f.prefixed(q, at, prefix, came)
				if err != nil {
					return nil, err
				}
				judged := key.find(item)
				if judged == nil {
					return nil, unfit("%s: the member %s: an item in status.%s has no %s", key.at, f.Cluster, at.text, key.text)
				}
				name := canonical(judged)
				if known := seen[name]; known == nil {
					seen[name], items = item, append(items, item)
				} else if !known.Equal(item) {
					return nil, unfit("%s: the member %s: an item in status.%s differs from that of another member with the same %s",
						key.at, f.Cluster, at.text, key.text)
				}
			}
		}
		return listOf(items), nil
	}
}

// prefixed returns an item of the list at a path. With several members, the text at prefix begins with the
// cluster's name.
func (f found) prefixed(q *question, at, prefix path, item *document.Node) (*document.Node, error) {
	if len(prefix.steps) == 0 || len(q.members) == 1 {
		return item, nil
	}
	copied, err := document.Parse(item.Raw())
	if err != nil {
		return nil, unreadable(at.at.String()+": status."+at.text, err)
	}
	field := prefix.find(copied.Root())
	text, ok := field.Text()
	if !ok {
		return nil, unfit("%s: the member %s: an item in status.%s has no %s that is a string", prefix.at, f.Cluster, at.text, prefix.text)
	}
	if err := field.Replace(document.Quote(f.Cluster + "/" + text)); err != nil {
		return nil, unreadable(at.at.String()+": status."+at.text, err)
	}
	return copied.Root(), nil
}

// common returns the items that are in the lists of all members that have one, in the order of the first.
func common(_ *question, _ path, all []found) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	counts := map[string]int{}
	for _, f := range all {
		seen := map[string]bool{}
		for _, item := range f.Items() {
			if name := canonical(item); !seen[name] {
				seen[name] = true
				counts[name]++
			}
		}
	}
	var items []*document.Node
	for _, item := range all[0].Items() {
		if name := canonical(item); counts[name] == len(all) {
			counts[name] = 0 // counts a duplicate once
			items = append(items, item)
		}
	}
	return listOf(items), nil
}

// canonical returns a text that is equal for equal values; above 4 MiB, the limit of expressions, order matters.
func canonical(n *document.Node) string {
	switch n.Kind() {
	case document.Object, document.Array:
		if raw, err := expression.JSON(valueOf(n)); err == nil {
			return string(raw)
		}
	case document.String:
		text, _ := n.Text()
		return `"` + text
	}
	return string(n.Raw())
}

// severity returns the rank of a condition's status; 0 is the worst. Bad conditions should be False, others True.
func severity(status *document.Node, bad bool) int {
	worst, best := "False", "True"
	if bad {
		worst, best = best, worst
	}
	switch {
	case status.Is(worst):
		return 0
	case status.Is("Unknown"):
		return 1
	case status.Is(best):
		return 3
	}
	return 2
}

// listOf writes a list of values as raw JSON.
func listOf(items []*document.Node) []byte {
	texts := make([][]byte, len(items))
	for i, item := range items {
		texts[i] = item.Raw()
	}
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]"))
}
