// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// kubeletFields are the fields of the kubelet's configuration that some version of Kubernetes in the table has, sorted. In which
// versions each is there is judged where the versions of a profile are known.
var kubeletFields = sync.OnceValue(func() []string {
	var all []string
	for _, version := range kubeflags.Versions() {
		all = append(all, kubeflags.Fields("", version)...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "kind" || name == "apiVersion" })
})

// kubeletShape is what may be set: what the Go type has, which editors get with its comments, and what came after it.
func kubeletShape() Type {
	shape := shapeLike[kubeletconfigv1beta1.KubeletConfiguration]("kind", "apiVersion", "featureGates")
	var typed []string
	for _, field := range reflect.VisibleFields(shape.Of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		typed = append(typed, name)
	}
	for _, name := range kubeletFields() {
		if !slices.Contains(typed, name) {
			history, _ := kubeflags.Field(name)
			shape.Fields = append(shape.Fields, Argument{Name: name, Type: kubeletFieldType(name), Summary: history.String()})
		}
	}
	return shape
}

// kubeletFieldType is what may stand in a field that only the table knows.
func kubeletFieldType(path string) Type {
	history, _ := kubeflags.Field(path)
	switch history.Kind {
	case "list":
		return computed(listOf(kubeletFieldType(path + "[]")))
	case "map":
		return mappingOf(orNull(kubeletFieldType(path + "{}")))
	case "string":
		return anyText
	case "integer", "number", "bool":
		return Type{Form: Scalar}
	default:
		return anyTree
	}
}

// checkKubeletValue judges a value as the kubelet would: by the Go type, which says most, and by the table for what that does not know.
// It is empty for what the kubelet can read.
func checkKubeletValue(name string, raw []byte) string {
	var (
		typed kubeletconfigv1beta1.KubeletConfiguration
		value any
	)
	if err := json.Unmarshal(object(name, raw), &typed); err != nil {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return "it is no value"
	}
	return checkKubeletPath(name, value)
}

func checkKubeletPath(path string, value any) string {
	history, known := kubeflags.Field(path)
	if !known {
		return fmt.Sprintf("unknown field %q", path[strings.LastIndexByte(path, '.')+1:])
	}
	if !slices.Contains(kindsOfValue(value, path), history.Kind) {
		return fmt.Sprintf("%s must be of the kind %s", path, history.Kind)
	}
	if history.Kind == "any" {
		return ""
	}
	for below, inner := range belowKubeletPath(path, history.Kind, value) {
		if problem := checkKubeletPath(below, inner); problem != "" {
			return problem
		}
	}
	return ""
}

// kindsOfValue are the kinds of fields that can hold a value.
func kindsOfValue(value any, path string) []string {
	switch of := value.(type) {
	case nil:
		if strings.HasSuffix(path, "[]") {
			return nil
		}
		return []string{"object", "map", "list", "string", "bool", "integer", "number", "any"}
	case map[string]any:
		return []string{"object", "map", "any"}
	case []any:
		return []string{"list", "any"}
	case string:
		return []string{"string", "any"}
	case bool:
		return []string{"bool", "any"}
	case float64:
		if of != float64(int64(of)) {
			return []string{"number", "any"}
		}
		return []string{"integer", "number", "any"}
	default:
		return nil
	}
}

// belowKubeletPath are the members of a mapping, or the items of a list, with their paths.
func belowKubeletPath(path, kind string, value any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch of := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(of)) {
				below := path + "{}"
				if kind == "object" {
					below = path + "." + key
				}
				if !yield(below, of[key]) {
					return
				}
			}
		case []any:
			for _, item := range of {
				if !yield(path+"[]", item) {
					return
				}
			}
		}
	}
}
