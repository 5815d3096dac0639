// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package annotation reads and writes the annotations in which Graft keeps its own data about an object: marks with the
// versions of the profiles that mutated it, and records of the values that rules replaced. Rules cannot write them.
// Start reading at Mark and Recorder.
package annotation

import (
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

const (
	prefix       = "graft.provider.extensions.gardener.cloud/"
	markPrefix   = prefix + "mutated-by-"
	recordPrefix = prefix + "written-"

	// OptOut on a namespace excludes the control plane in it. The value is the reason; an empty one does not count.
	OptOut = prefix + "opt-out"
)

// Mark is the annotation that names the profiles with rules for an object, each with its version. The zero mark is
// never written.
type Mark struct {
	key string
	// Versions lists the profiles: <profile>@<hash>, separated by commas. It is empty if there are none.
	Versions string
	value    []byte // Versions as JSON, or nil
}

// NewMark returns the mark of a set with versions of profiles. Without versions, it removes an earlier mark.
func NewMark(set target.Set, versions []string) Mark {
	m := Mark{key: markPrefix + string(set)}
	if versions != nil {
		m.Versions = strings.Join(versions, ",")
		m.value = document.Quote(m.Versions)
	}
	return m
}

// Write adds the mark to the object's own metadata, where it causes no rollout, or removes an earlier one. It reports
// whether it added one. It fails if the metadata or the annotations of the object are not mappings.
func (m Mark) Write(o *target.Object) (bool, error) {
	switch {
	case m.key == "":
		return false, nil
	case m.value == nil:
		o.Document.Root().Find("metadata", "annotations").Remove(m.key)
		return false, nil
	}
	return true, set(o, m.key, m.value)
}

// Marks returns the versions of the profiles with which the webhook of a set last mutated the object, as received:
// <profile>@<beginning of the hash>. It returns none if the webhook did not mutate it or the annotation was removed.
func Marks(object *document.Document, set target.Set) []string {
	mark, _ := object.Original().Find("metadata", "annotations", markPrefix+string(set)).Text()
	return versionsIn(mark)
}

func versionsIn(mark string) []string {
	if mark == "" {
		return nil
	}
	return strings.Split(mark, ",")
}

// Unmarked returns an object, as JSON, without Graft's annotations. It fails for invalid JSON.
func Unmarked(object []byte) ([]byte, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	removeOwn(parsed.Root())
	return parsed.Bytes(), nil
}

// set sets an annotation to a JSON string.
func set(o *target.Object, key string, value []byte) error {
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

func get(root *document.Node, key string) string {
	value, _ := root.Find("metadata", "annotations").Get(key).Text()
	return value
}

// removeOwn removes Graft's annotations, and also the annotations field if it becomes empty.
func removeOwn(root *document.Node) {
	annotations := root.Find("metadata", "annotations")
	var own []string
	foreign := false
	for key := range annotations.Members() {
		if strings.HasPrefix(key, prefix) {
			own = append(own, key)
		} else {
			foreign = true
		}
	}
	if len(own) > 0 && !foreign {
		root.Get("metadata").Remove("annotations")
		return
	}
	for _, key := range own {
		annotations.Remove(key)
	}
}
