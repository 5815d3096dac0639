// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// annotationPrefix is that of the annotations in which Graft keeps what it has to know about an object; no rule may write them.
const annotationPrefix = "graft.provider.extensions.gardener.cloud/"

// markAnnotation and the name of the set are the annotation that says which profiles have rules for an object, and in which
// versions.
const markAnnotation = annotationPrefix + "mutated-by-"

// markDigits is how much of a profile's hash stands in a mark.
const markDigits = 8

// OptOutAnnotation on a namespace takes the control plane in it out of Graft's hands. The value is the reason; one that is empty does not count.
const OptOutAnnotation = annotationPrefix + "opt-out"

// Marks are the versions of profiles under which an object was mutated last by the webhook of a set, as it came: <profile>@<beginning of the hash>; none
// where that did not, or its marks are gone.
func Marks(object *document.Document, set target.Set) []string {
	return versionsIn(object.CameText("metadata", "annotations", markAnnotation+string(set)))
}

// mark is an annotation that says which profiles mutated an object. The zero mark is none.
type mark struct {
	key string
	// value is a string of JSON: <profile>@<hash>, with commas between several; nil for none.
	value []byte
}

// markOf is the mark of rules of a set; without a value when there are no rules, so that an earlier one goes.
func markOf(set target.Set, rules []*rule, profiles []ProfileVersion) mark {
	var versions []string
	for _, p := range profiles {
		if slices.ContainsFunc(rules, func(r *rule) bool { return r.profile == p.Name }) {
			versions = append(versions, p.Name+"@"+p.Hash[:min(len(p.Hash), markDigits)])
		}
	}
	m := mark{key: markAnnotation + string(set)}
	if versions != nil {
		m.value = document.Quote(strings.Join(versions, ","))
	}
	return m
}

// write adds the mark to the object's own metadata, where nothing makes a new pod of it. It comes with other edits only, so that
// an object which is right already stays as it is.
func (m mark) write(o *target.Object, observe Observer) error {
	switch {
	case m.key == "":
		return nil
	case m.value == nil:
		o.Document.Root().Find("metadata", "annotations").Remove(m.key)
		return nil
	}
	if err := writeAnnotation(o, m.key, m.value); err != nil {
		return err
	}
	if observe != nil {
		observe(Applied{Rule: "mark", Outcome: Changed}, Step{}, o)
	}
	return nil
}

// writeAnnotation sets an annotation to a string of JSON.
func writeAnnotation(o *target.Object, key string, value []byte) error {
	metadata, err := o.Document.Root().Ensure("metadata", document.Object)
	if err != nil {
		return err
	}
	annotations, err := metadata.Ensure("annotations", document.Object)
	if err != nil {
		return err
	}
	_, err = annotations.Set(key, value)
	return err
}
