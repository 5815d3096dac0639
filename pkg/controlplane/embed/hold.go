// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// goTypes are the Go types of the whole objects that an ensurer is handed, by their kinds.
var goTypes = map[string]reflect.Type{
	"Deployment": reflect.TypeFor[appsv1.Deployment](), "StatefulSet": reflect.TypeFor[appsv1.StatefulSet](),
	"VerticalPodAutoscaler": reflect.TypeFor[vpaautoscalingv1.VerticalPodAutoscaler](), "Etcd": reflect.TypeFor[druidcorev1alpha1.Etcd](),
}

// cannotHold returns the first written field of a whole object that none of its Go types has, so that it would be lost,
// or an empty string. Fields inside a value are checked when it is written.
func cannotHold(info mutation.RuleInfo) string {
	if info.Computed {
		return ""
	}
	for _, place := range info.Places {
		name, _, _ := strings.Cut(place.Name, "[+ ") // an item that is appended to a list
		path, err := fieldpath.Parse(name)
		if place.Kind != operation.Field || err != nil {
			continue
		}
		known, held := "", false
		for i := range info.Target.Forms {
			if t, ok := goTypes[info.Target.Forms[i].Kind]; ok {
				known, held = info.Target.Forms[i].Kind, held || holds(t, path)
			}
		}
		if known != "" && !held {
			return fmt.Sprintf("writes %s, which the type %s of this program does not have; a Mutator of unstructured objects keeps it", name, known)
		}
	}
	return ""
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// holds reports whether a Go type has a field at a path. It returns true for types with their own JSON decoding.
func holds(t reflect.Type, path fieldpath.Path) bool {
	for _, step := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		isMember := step.By == "" && !step.Position
		switch {
		case t.Kind() == reflect.Interface, reflect.PointerTo(t).Implements(unmarshaler):
			return true
		case t.Kind() == reflect.Struct && isMember:
			member, ok := memberOf(t, step.Key)
			if !ok {
				return false
			}
			t = member
		case t.Kind() == reflect.Map && isMember, t.Kind() == reflect.Slice && !isMember:
			t = t.Elem()
		default:
			return false
		}
	}
	return true
}

// memberOf returns the type of a struct's member by its JSON name.
func memberOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name && tag != "-" {
			return field.Type, true
		}
		if field.Anonymous && tag == "" && field.Type.Kind() == reflect.Struct {
			if member, ok := memberOf(field.Type, name); ok {
				return member, true
			}
		}
	}
	return nil, false
}
