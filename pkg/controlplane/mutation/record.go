// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// recordAnnotation and the name of the set are the annotation in which Graft records what stood where it wrote, as long as Gardener
// does not write those places itself.
const recordAnnotation = annotationPrefix + "written-"

const (
	// recordedBytes is the longest value that is recorded; what was longer is not taken back.
	recordedBytes = 1024
	// recordBytes is the longest record that is written and read; of an object with a longer one, nothing is taken back.
	recordBytes = 64 << 10
)

// record is what rules of a set wrote on an object and nobody writes anew.
type record map[operation.Trace]recorded

// recorded is one place.
type recorded struct {
	// Wrote is the beginning of the hash of what a rule wrote.
	Wrote string `json:"wrote"`
	// Before is what stood there; nil: nothing did, or it is not told because a Secret is among what the value is made of.
	Before json.RawMessage `json:"before,omitempty"`
}

// lasts says whether the rule writes something that stays when it is gone.
func (r *rule) lasts() bool {
	return slices.ContainsFunc(r.writes, func(w operation.Write) bool { return len(w.Traces(nil, nil, nil)) > 0 })
}

// keep brings the record of an object up to date after its rules were applied, and takes back what no rule writes any more.
func (s *selection) keep(o *target.Object, plan Plan) error {
	if s.record == "" {
		return nil
	}
	here, there := o.Document.CameText("metadata", "annotations", s.record), ""
	if here == "" {
		there = o.Old.CameText("metadata", "annotations", s.record)
	}
	known := readRecord(here, there)
	if len(known) == 0 && !s.lasts {
		return nil
	}
	r := recorder{object: o, known: known, next: record{}, before: operation.TracesIn(o.Document.Original()), after: operation.TracesIn(o.Document.Root())}
	r.note(plan)
	if err := r.takeBack(); err != nil {
		return err
	}
	return r.next.write(o, s.record, here)
}

// recorder makes the record of an object after its rules were applied.
type recorder struct {
	object        *target.Object
	before, after *operation.Traces
	known, next   record
	// held are the traces that are to stay as they are recorded; all says so of every trace.
	held map[operation.Trace]bool
	all  bool
}

// note finds what the rules of the plan have written.
func (r *recorder) note(p Plan) {
	for _, planned := range p.Rules {
		if planned.Skipped != "" {
			// A condition that does not hold now is no rule that is gone.
			r.all = r.all || planned.rule.family != nil || planned.rule.whole != nil
			for i := range planned.rule.writes {
				r.hold(planned.rule.writes[i].Traces(r.object.Document.Original(), r.object.Document.Root(), nil)...)
			}
			continue
		}
		for _, step := range planned.Steps {
			if step.Overridden == "" {
				r.noteStep(step)
			}
		}
	}
}

func (r *recorder) noteStep(s Step) {
	for _, trace := range s.write.Traces(r.object.Document.Original(), r.object.Document.Root(), &s.Value) {
		if trace.Item == operation.AnyItem {
			r.hold(trace)
		} else if entry, ok := r.entry(s, trace); ok {
			r.next[trace] = entry
		} else if s.Kept {
			r.hold(trace)
		}
	}
}

func (r *recorder) hold(traces ...operation.Trace) {
	for _, trace := range traces {
		if r.held == nil {
			r.held = map[operation.Trace]bool{}
		}
		r.held[trace] = true
	}
}

// entry is the record of one trace; there is none for what was so without the rule.
func (r *recorder) entry(s Step, trace operation.Trace) (recorded, bool) {
	if r.object.Form.Kind == "Secret" && !strings.HasPrefix(trace.Outer(), "metadata.") {
		// The annotation would tell what the data was.
		return recorded{}, false
	}
	before, after := r.before.Get(trace), r.after.Get(trace)
	earlier, ok := r.known[trace]
	if bytes.Equal(before, after) {
		return earlier, ok && earlier.Wrote == operation.Digest(after)
	}
	entry := recorded{Wrote: operation.Digest(after), Before: before}
	if ok && earlier.Wrote == operation.Digest(before) {
		// What stood there was a rule's, too.
		entry.Before = earlier.Before
	}
	if len(s.Value.From) > 0 {
		// It may be what the Secret held before.
		entry.Before = nil
	}
	return entry, !s.Kept && len(entry.Before) <= recordedBytes
}

// takeBack makes what no rule writes any more what it was, if what a rule wrote still stands there.
func (r *recorder) takeBack() error {
	byText := func(a, b operation.Trace) int { return strings.Compare(a.String(), b.String()) }
	for _, trace := range slices.SortedFunc(maps.Keys(r.known), byText) {
		if _, written := r.next[trace]; written {
			continue
		}
		if r.all || r.held[trace] || trace.Item != "" && r.held[trace.Any()] {
			r.next[trace] = r.known[trace]
			continue
		}
		was := r.known[trace]
		if _, reserved := contract.ReservedField(trace.Outer()); reserved || operation.Digest(r.after.Get(trace)) != was.Wrote {
			continue
		}
		if err := r.after.Restore(trace, was.Before); err != nil {
			return err
		}
	}
	return r.after.Flush()
}

// write writes the record unless the object has it already, and removes one that is empty.
func (r record) write(o *target.Object, key, here string) error {
	if len(r) == 0 {
		o.Document.Root().Find("metadata", "annotations").Remove(key)
		return nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(raw) > recordBytes {
		return record{}.write(o, key, here)
	}
	if string(raw) == here {
		return nil
	}
	return writeAnnotation(o, key, document.Quote(string(raw)))
}

// readRecord reads the first text that is one. What nobody can read is no record.
func readRecord(texts ...string) record {
	for _, raw := range texts {
		if raw == "" || len(raw) > recordBytes {
			continue
		}
		var read record
		if json.Unmarshal([]byte(raw), &read) == nil {
			return read
		}
	}
	return nil
}

func annotation(root *document.Node, key string) string {
	return text(root.Find("metadata", "annotations").Get(key))
}
