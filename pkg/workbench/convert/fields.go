// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// comparison calls set and remove for the differing fields of two values, with paths in the form of operations.
type comparison struct {
	set    func(fieldpath.Path, any)
	remove func(fieldpath.Path)
	// items says that paths may lead to items of lists; lists are set whole otherwise.
	items bool
}

func (c comparison) compare(p fieldpath.Path, before, after any) {
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	old, wasList := before.([]any)
	items, isList := after.([]any)
	switch {
	case same(p, before, after):
	case wasTree && isTree && (len(is) > 0 || len(p) == 0):
		for _, key := range union(is, was) {
			_, had := was[key]
			switch now, has := is[key]; {
			case !has:
				c.remove(p.With(key))
			case !had:
				c.set(p.With(key), now)
			default:
				c.compare(p.With(key), was[key], now)
			}
		}
	case wasList && isList && c.list(p, old, items):
	case wasTree && isTree:
		// A mapping is merged, so an empty one would change nothing.
		for _, key := range union(was, nil) {
			c.remove(p.With(key))
		}
	case wasTree:
		c.remove(p)
		c.set(p, after)
	default:
		c.set(p, after)
	}
}

// same reports whether two values at a path mean the same.
func same(p fieldpath.Path, before, after any) bool {
	return equal(before, after) || isQuantity(p) && sameQuantity(before, after)
}

// isQuantity reports whether a path leads to an amount of a resource.
func isQuantity(p fieldpath.Path) bool {
	return len(p) > 1 && slices.Contains([]string{"requests", "limits", "minAllowed", "maxAllowed"}, p[len(p)-2].Key)
}

// itemKeys lists the members that identify items of lists.
var itemKeys = []string{"name", "path", "containerName", "mountPath", "key", "host", "id"}

// list compares lists of named items. It returns false if items have no names or a different order.
func (c comparison) list(p fieldpath.Path, before, after []any) bool {
	for _, key := range itemKeys {
		was, order, ok := keyed(before, key)
		is, now, isOk := keyed(after, key)
		if !ok || !isOk || len(was) == 0 || len(is) == 0 {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(order), func(name string) bool { return is[name] == nil })
		same := len(now) == len(order) && len(now) == len(left)
		if !same && (len(now) < len(left) || !slices.Equal(left, now[:len(left)])) {
			return false
		}
		step := func(name string) fieldpath.Path {
			return append(p[:len(p):len(p)], fieldpath.Step{Key: name, By: key, Quoted: !plainItem(name)})
		}
		for _, name := range order {
			if is[name] == nil {
				c.remove(step(name))
			}
		}
		if !c.items {
			c.set(p, after)
			return true
		}
		for _, name := range now {
			if was[name] == nil {
				c.set(step(name), but(is[name], key))
				continue
			}
			c.compare(step(name), was[name], is[name])
		}
		return true
	}
	return false
}

// plainItem reports whether a name needs no quotes in [name=…].
func plainItem(name string) bool {
	parsed, err := fieldpath.Parse("x[name=" + name + "]")
	if err != nil || len(parsed) != 2 || parsed[1].Key != name || parsed[1].Quoted || name == "true" || name == "false" {
		return false
	}
	return slices.ContainsFunc([]rune(name), func(c rune) bool { return (c < '0' || c > '9') && c != '-' })
}
