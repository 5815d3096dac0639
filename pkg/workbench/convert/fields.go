// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// fieldDiff finds the fields by which two values differ, as the operations fields and document name them.
type fieldDiff struct {
	set    func(p fieldpath.Path, value any)
	remove func(p fieldpath.Path)
	// append is told of items that were added at the end of a list of scalars; nil where only whole lists can be set.
	append func(p fieldpath.Path, items []any)
}

func (f fieldDiff) compare(p fieldpath.Path, before, after any) {
	if equal(before, after) {
		return
	}
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	if wasTree && isTree && (len(is) > 0 || len(p) == 0) {
		f.members(p, was, is)
		return
	}
	old, wasList := before.([]any)
	items, isList := after.([]any)
	switch {
	case wasList && isList && f.items(p, old, items):
	case wasTree && isTree:
		// An empty mapping that is merged changes nothing, so what was in it goes.
		for _, key := range union(was, nil) {
			f.remove(p.With(key))
		}
	default:
		if wasTree != isTree && wasTree && before != nil {
			f.remove(p)
		}
		f.set(p, after)
	}
}

func (f fieldDiff) members(p fieldpath.Path, before, after tree) {
	for _, key := range union(after, before) {
		was, had := before[key]
		is, has := after[key]
		switch {
		case !has:
			f.remove(p.With(key))
		case !had:
			f.set(p.With(key), is)
		default:
			f.compare(p.With(key), was, is)
		}
	}
}

// itemKeys are members by which items of lists are usually told apart.
var itemKeys = []string{"name", "path", "containerName", "key", "host", "id"}

// items compares lists of which the items have names, or to which scalars were added; false for others.
func (f fieldDiff) items(p fieldpath.Path, before, after []any) bool {
	if added, ok := appended(before, after); ok && f.append != nil {
		f.append(p, added)
		return true
	}
	for _, key := range itemKeys {
		was, order, ok := keyed(before, key)
		is, now, isOk := keyed(after, key)
		if !ok || !isOk || len(was) == 0 || len(is) == 0 {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(order), func(name string) bool { return is[name] == nil })
		if len(now) < len(left) || !slices.Equal(left, now[:len(left)]) {
			return false
		}
		for _, name := range order {
			if is[name] == nil {
				f.remove(step(p, key, name))
			}
		}
		for _, name := range now {
			if was[name] == nil {
				f.set(step(p, key, name), but(is[name], key))
				continue
			}
			f.members(step(p, key, name), was[name], is[name])
		}
		return true
	}
	return false
}

func step(p fieldpath.Path, key, name string) fieldpath.Path {
	return append(p[:len(p):len(p)], fieldpath.Step{Key: name, By: key, Quoted: !plainItem(name)})
}

// plainItem says whether a name can stand behind [name= without quotes, and is text then.
func plainItem(name string) bool {
	parsed, err := fieldpath.Parse("x[name=" + name + "]")
	return err == nil && len(parsed) == 2 && parsed[1].Key == name && !parsed[1].Quoted && !isNumber(name) && name != "true" && name != "false"
}

func isNumber(text string) bool {
	for i, c := range text {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return false
		}
	}
	return text != ""
}

// appended are the scalars that a list has more than another one, where it has nothing less and nothing in another order.
func appended(before, after []any) ([]any, bool) {
	if len(after) <= len(before) || !equal(before, after[:len(before)]) && len(before) > 0 {
		return nil, false
	}
	added := after[len(before):]
	for i, value := range added {
		if !isScalar(value) || slices.ContainsFunc(after[:len(before)+i], func(other any) bool { return equal(other, value) }) {
			return nil, false
		}
	}
	return added, true
}

func isScalar(value any) bool {
	switch value.(type) {
	case tree, []any:
		return false
	}
	return true
}
