// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// The beginnings of paths that can be restored, and of those below that gardenlet writes anew each time or that cannot change.
var (
	lasting   = []string{"metadata.labels", "metadata.annotations", "spec", "data"}
	transient = []string{
		"spec.template", "spec.jobTemplate", "spec.volumeClaimTemplates", "spec.volumeClaimTemplate", "spec.storageClass",
		"spec.storageCapacity", "spec.units", "spec.files", "spec.criConfig", "spec.providerConfig", "spec.resourcePolicy",
	}
)

// LastingPath is the path of a place that stays as a rule left it when the rule is gone, because nobody writes it anew: labels,
// annotations and fields of the object itself. Pod templates, and what nodes are made of, Gardener writes at each reconciliation.
func LastingPath(p Place) (string, bool) {
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
		if path, err = parsePath(p.Name); err != nil {
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

// Find is what stands at a path; nil where nothing does, or the path is none.
func Find(root *document.Node, path string) *document.Node {
	p, err := parsePath(path)
	if err != nil {
		return nil
	}
	return p.find(root)
}

// Restore puts back what stood at a lasting path, as JSON; nil removes what is there. Other paths are left alone.
func Restore(root *document.Node, path string, before []byte) error {
	p, err := parsePath(path)
	if err != nil || !isLasting(p) {
		return nil //nolint:nilerr // what is no path leads nowhere
	}
	if before == nil {
		p.remove(root)
		return nil
	}
	return p.put(root, before)
}
