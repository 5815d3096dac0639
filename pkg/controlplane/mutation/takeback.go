// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// TakenBack is an object without what the records on it say that rules wrote.
type TakenBack struct {
	// Object is the object as JSON, also without the annotations that Graft writes.
	Object []byte
	// Profiles are the versions of profiles that mutated the object, as its marks name them: <profile>@<beginning of the hash>. None:
	// Graft did not, or without marks.
	Profiles []string
	// Changed are recorded places that hold something else than what a rule wrote; they were left as they are.
	Changed []string
}

// TakeBack makes of an object as it stands in a cluster what it would be without Graft, as far as records say that: places that
// Gardener writes anew at each reconciliation are in no record, and stay. The error wraps one of package document.
func TakeBack(object []byte) (*TakenBack, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	taken, root := &TakenBack{}, parsed.Root()
	for _, set := range target.Sets() {
		taken.Profiles = append(taken.Profiles, versionsIn(annotation(root, markAnnotation+string(set)))...)
		if err := taken.restore(root, readRecord(annotation(root, recordAnnotation+string(set)))); err != nil {
			return nil, fmt.Errorf("taking back what rules of %s wrote: %w", set, err)
		}
	}
	slices.Sort(taken.Profiles)
	taken.Profiles = slices.Compact(taken.Profiles)
	removeOwn(root)
	taken.Object = parsed.Bytes()
	return taken, nil
}

// Unmarked is an object, as JSON, without the annotations that Graft writes.
func Unmarked(object []byte) ([]byte, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	removeOwn(parsed.Root())
	return parsed.Bytes(), nil
}

// Lasts says whether what the step writes stays when its rule is gone, so that records have it: nobody else writes it anew.
func (s Step) Lasts() bool { return s.write != nil && len(s.write.Traces(nil, nil, nil)) > 0 }

// RemovesNothing reports whether the step removes what no sample of the object has: Gardener does not write it there. It is false where there is no sample.
func (s Step) RemovesNothing(o *target.Object) bool {
	if s.Kept || !s.Value.Absent {
		return false
	}
	found := false
	for _, plane := range static.Planes() {
		for _, raw := range plane.Objects {
			parsed, err := document.Parse(raw)
			if err != nil {
				continue
			}
			request := requestFor(parsed.Root(), plane.Garden)
			if plane.Garden != o.Target.Garden || !o.Form.Is(request.Group, request.Kind, request.Name) {
				continue
			}
			found = true
			sample := &target.Object{Target: o.Target, Form: o.Form, Document: parsed}
			if err := errors.Join(s.write.Apply(sample, s.Value), sample.Flush()); err == nil && parsed.Changed() {
				return false
			}
		}
	}
	return found
}

// Version is how a mark names a version of a profile.
func (v ProfileVersion) Version() string { return v.Name + "@" + v.Hash[:min(len(v.Hash), markDigits)] }

func versionsIn(mark string) []string {
	if mark == "" {
		return nil
	}
	return strings.Split(mark, ",")
}

func (t *TakenBack) restore(root *document.Node, known record) error {
	traces := operation.TracesIn(root)
	byText := func(a, b operation.Trace) int { return strings.Compare(a.String(), b.String()) }
	for _, trace := range slices.SortedFunc(maps.Keys(known), byText) {
		if _, reserved := contract.ReservedField(trace.Outer()); reserved {
			continue
		}
		if operation.Digest(traces.Get(trace)) != known[trace].Wrote {
			t.Changed = append(t.Changed, trace.String())
			continue
		}
		if err := traces.Restore(trace, known[trace].Before); err != nil {
			return err
		}
	}
	return traces.Flush()
}

// removeOwn removes Graft's annotations, and the mapping of annotations if it held no others.
func removeOwn(root *document.Node) {
	annotations := root.Find("metadata", "annotations")
	var own []string
	others := false
	for key := range annotations.Members() {
		if strings.HasPrefix(key, annotationPrefix) {
			own = append(own, key)
		} else {
			others = true
		}
	}
	if len(own) > 0 && !others {
		root.Get("metadata").Remove("annotations")
		return
	}
	for _, key := range own {
		annotations.Remove(key)
	}
}
