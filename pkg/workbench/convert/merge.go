// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// mergeKeys are the members by which the engine tells the items of a list apart when it merges them.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath",
	"imagePullSecrets": "name", "containerPolicies": "containerName", "items": "path",
}

// alternatives are members of which an object has one: writing one removes the others.
var alternatives = [][]string{
	{"value", "valueFrom"},
	{"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"},
	{"exec", "httpGet", "tcpSocket", "grpc", "sleep"},
	{"secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"},
}

// mergeDiff is what has to be merged into a value to get another one, and the paths that merging cannot remove. name is the
// member under which the value stands. Nothing is changed where only something is to be removed.
func mergeDiff(before, after any, name string) (value any, removed []fieldpath.Path, changed bool) {
	if equal(before, after) {
		return nil, nil, false
	}
	was, wasTree := before.(tree)
	is, isTree := after.(tree)
	if wasTree && isTree {
		if slices.Contains(quantities, name) {
			is = sameAmounts(was, is)
		}
		return mergeMembers(was, is)
	}
	old, wasList := before.([]any)
	items, isList := after.([]any)
	if wasList && isList {
		if key := mergeKeys[name]; key != "" {
			if value, removed, changed, ok := mergeItems(old, items, key); ok {
				return value, removed, changed
			}
		}
		if name == "ports" {
			return after, portsGone(old, items), true
		}
	}
	return after, nil, true
}

func mergeMembers(before, after tree) (any, []fieldpath.Path, bool) {
	var removed []fieldpath.Path
	out := tree{}
	for _, key := range union(after, before) {
		was, had := before[key]
		is, has := after[key]
		switch {
		case !has:
			if !replaced(key, after) {
				removed = append(removed, fieldpath.Path{{Key: key}})
			}
		case !had:
			out[key] = is
		default:
			value, below, changed := mergeDiff(was, is, key)
			if changed {
				out[key] = value
			}
			for _, p := range below {
				removed = append(removed, append(fieldpath.Path{{Key: key}}, p...))
			}
		}
	}
	return out, removed, len(out) > 0
}

// sameAmounts puts the old spelling of a quantity in the place of a new one that means the same.
func sameAmounts(before, after tree) tree {
	out := but(after)
	for key, is := range after {
		if was, ok := before[key]; ok && equal(amount(was), amount(is)) {
			out[key] = was
		}
	}
	return out
}

// replaced says whether a member goes by itself, as another one of its union comes.
func replaced(key string, after tree) bool {
	return slices.ContainsFunc(alternatives, func(union []string) bool {
		return slices.Contains(union, key) && slices.ContainsFunc(union, func(other string) bool { return after[other] != nil })
	})
}

func mergeItems(before, after []any, key string) (value any, removed []fieldpath.Path, changed, ok bool) {
	was, order, ok := keyed(before, key)
	is, now, isOk := keyed(after, key)
	if !ok || !isOk {
		return nil, nil, false, false
	}
	for _, name := range order {
		if is[name] == nil {
			removed = append(removed, step(nil, key, name))
		}
	}
	var items []any
	for _, name := range now {
		if was[name] == nil {
			items = append(items, is[name])
			continue
		}
		value, below, itemChanged := mergeMembers(was[name], is[name])
		if itemChanged {
			merged := value.(tree)
			merged[key] = name
			items = append(items, merged)
		}
		for _, p := range below {
			removed = append(removed, append(step(nil, key, name), p...))
		}
	}
	return items, removed, len(items) > 0, true
}

// portsGone are the ports of a container that are there no more; their key is the number, and the protocol.
func portsGone(before, after []any) []fieldpath.Path {
	var removed []fieldpath.Path
	number := func(port any) string { n, _ := at(port, "containerPort").(json.Number); return n.String() }
	for _, port := range before {
		if n := number(port); n != "" && !slices.ContainsFunc(after, func(other any) bool { return number(other) == n }) {
			removed = append(removed, fieldpath.Path{{Key: n, By: "containerPort"}})
		}
	}
	return removed
}
