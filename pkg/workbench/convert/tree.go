// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// tree is a JSON object, decoded with numbers as they are written.
type tree = map[string]any

// decodeTree reads a JSON object without its members that are null, as the API server does.
func decodeTree(raw []byte) (tree, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	t := tree{}
	if err := decoder.Decode(&t); err != nil {
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
		delete(treeAt(t, "metadata"), field)
	}
	for _, path := range [][]string{{"metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}} {
		maps.DeleteFunc(treeAt(t, path...), func(key string, _ any) bool {
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
	"timeoutSeconds":           json.Number("1"),
	"periodSeconds":            json.Number("10"),
	"successThreshold":         json.Number("1"),
	"failureThreshold":         json.Number("3"),
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

// treeAt returns the object at a path; nil where there is none.
func treeAt(value any, path ...string) tree {
	found, _ := at(value, path...).(tree)
	return found
}

// listAt returns the list at a path; nil where there is none.
func listAt(value any, path ...string) []any {
	found, _ := at(value, path...).([]any)
	return found
}

// textAt returns the string at a path; empty where there is none.
func textAt(value any, path ...string) string {
	text, _ := at(value, path...).(string)
	return text
}

// listOf returns texts as a JSON list.
func listOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
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
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// Trees hold nothing that cannot be encoded.
	_ = encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes())
}

// pair is an item of a list before and after; nil where the list does not have it.
type pair struct {
	name          string
	before, after tree
}

// pairsOf joins the items of two lists by a member: those before in their order, then new ones. It returns false unless
// the member distinguishes the items of each list.
func pairsOf(before, after any, key string) ([]pair, bool) {
	var pairs []pair
	for side, list := range []any{before, after} {
		items, isList := list.([]any)
		if !isList && list != nil {
			return nil, false
		}
		for _, item := range items {
			name, named := at(item, key).(string)
			i := slices.IndexFunc(pairs, func(p pair) bool { return p.name == name })
			if i < 0 {
				i = len(pairs)
				pairs = append(pairs, pair{name: name})
			}
			slot := &pairs[i].before
			if side == 1 {
				slot = &pairs[i].after
			}
			if !named || *slot != nil {
				return nil, false
			}
			*slot = item.(tree)
		}
	}
	return pairs, true
}
