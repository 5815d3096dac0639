// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// combine makes one value of what members say; nil where there is none.
type combine func(q *question) ([]byte, error)

// found is what a member has at a path.
type found struct {
	*member
	*document.Node
}

// take is what the members have at a path, by the names of clusters, until it is asked again; those that have nothing there are left out.
func (q *question) take(at path) []found {
	all := slices.Grow(q.taken[:0], len(q.members))
	for _, m := range q.members {
		if m.status == nil {
			continue
		}
		if n := at.find(m.status.Root()); n != nil {
			all = append(all, found{m, n})
		}
	}
	q.taken = all
	return all
}

// misfit says that what a member has is not as it is needed.
func (f found) misfit(at path, what string) error {
	return unfit("%s: the member %s: status.%s is %s, and must be %s", at.at, f.Cluster, at.text, word(f.Node), what)
}

// sum adds numbers up: exactly while all are whole.
func sum(at path) combine {
	return func(q *question) ([]byte, error) {
		var (
			whole int64
			float float64
			exact = true
		)
		all := q.take(at)
		for _, f := range all {
			if f.Kind() != document.Number {
				return nil, f.misfit(at, "a number")
			}
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
		case len(all) == 0:
			return nil, nil
		case exact:
			return q.wrote(strconv.AppendInt(q.out[:0], whole, 10)), nil
		case math.Abs(float) >= math.MaxInt64: // no number of Kubernetes is
			return nil, tooLarge(at)
		}
		return []byte(strings.ToLower(strconv.FormatFloat(float, 'g', -1, 64))), nil
	}
}

func tooLarge(at path) error { return unfit("%s: status.%s: the sum is too large", at.at, at.text) }

// least is the smallest number, as its member writes it.
func least(at path) combine { return extreme(at, func(a, b float64) bool { return a < b }) }

// most is the largest number, as its member writes it.
func most(at path) combine { return extreme(at, func(a, b float64) bool { return a > b }) }

func extreme(at path, better func(a, b float64) bool) combine {
	return func(q *question) ([]byte, error) {
		var (
			best []byte
			than float64
		)
		for _, f := range q.take(at) {
			if f.Kind() != document.Number {
				return nil, f.misfit(at, "a number")
			}
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

// allTrue says whether all members have true.
func allTrue(at path) combine {
	return func(q *question) ([]byte, error) {
		count, err := truths(q, at)
		if err != nil || len(q.members) == 0 {
			return nil, err
		}
		return q.wrote(strconv.AppendBool(q.out[:0], count == len(q.members))), nil
	}
}

// anyTrue says whether a member has true.
func anyTrue(at path) combine {
	return func(q *question) ([]byte, error) {
		count, err := truths(q, at)
		if err != nil || len(q.members) == 0 {
			return nil, err
		}
		return q.wrote(strconv.AppendBool(q.out[:0], count > 0)), nil
	}
}

// truths are how many members have true.
func truths(q *question, at path) (count int, err error) {
	for _, f := range q.take(at) {
		if f.Kind() != document.Bool {
			return 0, f.misfit(at, "true or false")
		}
		if f.Raw()[0] == 't' {
			count++
		}
	}
	return count, nil
}

// same is what all have that have something.
func same(at path) combine {
	return func(q *question) ([]byte, error) {
		all := q.take(at)
		for _, f := range all {
			if !f.Equal(all[0].Node) {
				return nil, nil
			}
		}
		return firstOf(all), nil
	}
}

// first is what the first has that has something.
func first(at path) combine {
	return func(q *question) ([]byte, error) { return firstOf(q.take(at)), nil }
}

func firstOf(all []found) []byte {
	if len(all) == 0 {
		return nil
	}
	return all[0].Raw()
}

// separator stands between the texts of members.
const separator = "; "

// join is the texts of all, each behind the name of its cluster; that of a single member as it is.
func join(at path) combine {
	return func(q *question) ([]byte, error) {
		var joined strings.Builder
		for _, f := range q.take(at) {
			text, ok := f.Text()
			switch {
			case !ok:
				return nil, f.misfit(at, "a text")
			case text == "":
				continue
			case len(q.members) == 1:
				return f.Raw(), nil
			}
			if joined.Len() > 0 {
				joined.WriteString(separator)
			}
			joined.WriteString(f.Cluster + ": " + text)
		}
		if joined.Len() == 0 {
			return nil, nil
		}
		return bytes.Clone(document.Quote(joined.String())), nil
	}
}

// united is a list of items of all members on its way.
type united struct {
	*question
	at, key, prefix path
	out             []byte
	// seen are the items by their keys, as they stand in out.
	seen map[string]span
	text []byte // that is used again
}

// span is a part of what is written.
type span struct{ from, to int }

// add writes an item, unless it stands there already.
func (u *united) add(f found, item *document.Node) error {
	length := len(u.out)
	if length > 1 {
		u.out = append(u.out, ',')
	}
	from := len(u.out)
	name, err := u.write(f, item)
	if err != nil {
		return err
	}
	known, double := u.seen[string(name)]
	if !double {
		u.seen[string(name)] = span{from, len(u.out)}
		return nil
	}
	same, err := equal(u.out[known.from:known.to], u.out[from:])
	if err != nil {
		return unreadable(u.at.at.String()+": status."+u.at.text, err)
	}
	if !same {
		return unfit("%s: the member %s: an item in status.%s differs from that of another member with the same %s", u.key.at, f.Cluster, u.at.text, u.key.text)
	}
	u.out = u.out[:length]
	return nil
}

// write writes an item, with the name of the cluster before a text where there are several members, and gives its key.
func (u *united) write(f found, item *document.Node) ([]byte, error) {
	if len(u.prefix.steps) == 0 || len(u.members) == 1 {
		u.out = append(u.out, item.Raw()...)
		return u.keyOf(f, item)
	}
	field := u.prefix.find(item)
	var ok bool
	u.text, ok = field.AppendText(append(append(u.text[:0], f.Cluster...), '/'))
	if !ok {
		return nil, unfit("%s: the member %s: an item in status.%s has no %s that is a text", u.prefix.at, f.Cluster, u.at.text, u.prefix.text)
	}
	before, behind := item.Around(field)
	from := len(u.out)
	u.out = append(u.out, before...)
	begin := len(u.out)
	u.out = document.AppendQuoted(u.out, u.text)
	end := len(u.out)
	u.out = append(u.out, behind...)
	if u.key.text == u.prefix.text && !u.key.selects() {
		return u.out[begin:end], nil
	}
	changed, err := u.object.Root().Parse(u.out[from:])
	if err != nil {
		return nil, unreadable(u.at.at.String()+": status."+u.at.text, err)
	}
	return u.keyOf(f, changed.Root())
}

// keyOf is what an item has in common with others that are the same.
func (u *united) keyOf(f found, item *document.Node) ([]byte, error) {
	judged := u.key.find(item)
	if judged == nil {
		return nil, unfit("%s: the member %s: an item in status.%s has no %s", u.key.at, f.Cluster, u.at.text, u.key.text)
	}
	return []byte(canonical(judged)), nil
}

// equal says whether two values are the same.
func equal(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	one, err := document.Parse(a)
	if err != nil {
		return false, err
	}
	defer one.Release()
	other, err := document.Parse(b)
	if err != nil {
		return false, err
	}
	defer other.Release()
	return one.Root().Equal(other.Root()), nil
}

// common is the items that the lists of all members have that have one, in the order of the first.
func common(at path) combine {
	return func(q *question) ([]byte, error) {
		all := q.take(at)
		counts := map[string]int{}
		for _, f := range all {
			if f.Kind() != document.Array {
				return nil, f.misfit(at, "a list")
			}
			seen := map[string]bool{}
			for _, item := range f.Items() {
				if name := canonical(item); !seen[name] {
					seen[name] = true
					counts[name]++
				}
			}
		}
		if len(all) == 0 {
			return nil, nil
		}
		var items []*document.Node
		for _, item := range all[0].Items() {
			if name := canonical(item); counts[name] == len(all) {
				counts[name] = 0 // once
				items = append(items, item)
			}
		}
		return q.listOf(items), nil
	}
}

// canonical is a text that places with equal values have in common.
func canonical(n *document.Node) string {
	switch n.Kind() {
	case document.Object, document.Array:
		if raw, err := json.Marshal(native(n)); err == nil {
			return string(raw)
		}
	case document.String:
		text, _ := n.Text()
		return `"` + text
	}
	return string(n.Raw())
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
