// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// tree is a JSON object, with integers as int64.
type tree = map[string]any

// decodeTree reads a JSON object without its members that are null, as the API server does.
func decodeTree(raw []byte) (tree, error) {
	t := tree{}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	clean(t, nil)
	return t, nil
}

// decodeObject reads an object without the parts that kube-apiserver and controllers write, the defaults of containers,
// and the annotations that are derived from volumes.
func decodeObject(raw []byte) (tree, error) {
	t, err := decodeTree(raw)
	if err != nil {
		return nil, err
	}
	delete(t, "status")
	for _, field := range []string{"resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink"} {
		delete(find[tree](t, "metadata"), field)
	}
	for _, path := range [][]string{{"metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}} {
		maps.DeleteFunc(find[tree](t, path...), func(key string, _ any) bool {
			return strings.HasPrefix(key, target.ReferencePrefix) || strings.HasPrefix(key, "graft.provider.extensions.gardener.cloud/") ||
				key == "kubectl.kubernetes.io/last-applied-configuration" || key == "deployment.kubernetes.io/revision"
		})
	}
	for _, list := range []string{"containers", "initContainers"} {
		clean(at(t, "spec", "template", "spec", list), containerDefaults)
	}
	return t, nil
}

// containerDefaults are the values that the API server writes into containers for absent fields
// (kubernetes: pkg/apis/core/v1/defaults.go).
var containerDefaults = tree{
	"terminationMessagePath":   "/dev/termination-log",
	"terminationMessagePolicy": "File",
	"resources":                tree{},
	"protocol":                 "TCP",
	"scheme":                   "HTTP",
	"apiVersion":               "v1",
	"timeoutSeconds":           int64(1),
	"periodSeconds":            int64(10),
	"successThreshold":         int64(1),
	"failureThreshold":         int64(3),
}

// clean deletes the members of all objects in a value that are null or have their default.
func clean(value any, defaults tree) {
	switch value := value.(type) {
	case tree:
		maps.DeleteFunc(value, func(key string, member any) bool {
			clean(member, defaults)
			known, ok := defaults[key]
			return member == nil || ok && equal(known, member)
		})
	case []any:
		for _, item := range value {
			clean(item, defaults)
		}
	}
}

// at returns the value at a path of members; nil where there is none.
func at(value any, path ...string) any {
	for _, key := range path {
		members, _ := value.(tree)
		value = members[key]
	}
	return value
}

// find returns the value of a type at a path of members; the zero value where there is none.
func find[T any](value any, path ...string) T {
	found, _ := at(value, path...).(T)
	return found
}

// but returns an object without some of its members.
func but(t tree, keys ...string) tree {
	out := tree{}
	maps.Copy(out, t)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// keys returns the names of the members of both objects, sorted.
func keys(a, b tree) []string {
	return union(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
}

// union returns the texts of both lists, sorted, each once.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// rawOf returns a value as JSON, with sorted members.
func rawOf(value any) []byte {
	raw, _ := json.Marshal(value) // Trees hold nothing that cannot be encoded.
	return raw
}

// itemsOf returns the items of two lists, without the key, by their values of the key. It returns false unless the key
// distinguishes the items of each list.
func itemsOf(before, after any, key string) (was, is tree, ok bool) {
	was, ok = byName(before, key)
	is, isOk := byName(after, key)
	if !ok || !isOk {
		return nil, nil, false
	}
	return was, is, true
}

func byName(list any, key string) (tree, bool) {
	items, isList := list.([]any)
	found := tree{}
	for _, item := range items {
		name, named := at(item, key).(string)
		if !named || found[name] != nil {
			return nil, false
		}
		found[name] = but(find[tree](item), key)
	}
	return found, isList || list == nil
}
