// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// The beginnings of paths that can be restored, and of those below that gardenlet writes anew each time or that cannot change. The policies
// of a VerticalPodAutoscaler are among these: gardenlet sets the whole list before its merge patch, which replaces lists as a whole (gardener:
// pkg/component/nodemanagement/machinecontrollermanager/machine_controller_manager.go, pkg/component/kubernetes/apiserver/verticalpodautoscaler.go,
// and so in every other component with one).
var (
	lasting   = []string{"metadata.labels", "metadata.annotations", "spec", "data"}
	transient = []string{
		"spec.template", "spec.jobTemplate", "spec.volumeClaimTemplates", "spec.volumeClaimTemplate", "spec.storageClass",
		"spec.storageCapacity", "spec.units", "spec.files", "spec.criConfig", "spec.providerConfig", "spec.resourcePolicy",
	}
)

// Traces are what the write leaves in an object that had the first root and has the second now; those of all items of a list stand for
// what cannot be told. A nil value says that none was computed. Traces that are always those of the place need no roots.
func (w *Write) Traces(original, now *document.Node, v *Resolved) []Trace {
	if w.leaves != nil {
		return w.leaves(original, now, v)
	}
	path, ok := lastingPath(w.Place)
	if !ok {
		return nil
	}
	return []Trace{{Path: path}}
}

// lastingPath is the path of a place that stays as a rule left it when the rule is gone, because nobody writes it anew: labels,
// annotations and fields of the object itself. Pod templates, and what nodes are made of, Gardener writes at each reconciliation.
func lastingPath(p Place) (string, bool) {
	var path fieldPath
	switch p.Kind {
	case Label:
		path = labelsPath.with(p.Name)
	case Annotation:
		path = annotationsPath.with(p.Name)
	case ServiceField:
		path = fieldPath{{Key: "spec"}, {Key: p.Name}}
	case Field:
		var err error
		if path, err = parseAny(p.Name); err != nil {
			return "", false
		}
	default:
		return "", false
	}
	text := path.String()
	return text, isLasting(path)
}

func isLasting(p fieldPath) bool {
	keys := strings.Join(p.keys(), ".")
	within := func(outer []string) bool {
		for _, o := range outer {
			if keys == o || inside(keys, o) {
				return true
			}
		}
		return false
	}
	return len(p.keys()) > 1 && within(lasting) && !within(transient)
}
