// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

const (
	// recordedBytes limits a recorded value, in bytes, so that a record has room for hundreds. Longer values are not
	// restored.
	recordedBytes = 1024
	// recordBytes limits a record, in bytes: Kubernetes allows 256 KiB for all annotations (k8s.io/apimachinery:
	// pkg/api/validation, TotalAnnotationSizeLimitB). Values of an object with a longer record are not restored.
	recordBytes = 64 << 10
)

// record holds the places that rules of a set wrote and that Gardener does not write at each reconciliation.
type record map[operation.Trace]recorded

// recorded is one place.
type recorded struct {
	// Wrote is the beginning of the hash of the value that a rule wrote.
	Wrote string `json:"wrote"`
	// Before is the former value. It is nil if there was none, or if the new value contains a Secret.
	Before json.RawMessage `json:"before,omitempty"`
}

// RecordKey returns the annotation for the record of a set.
func RecordKey(set target.Set) string { return recordPrefix + string(set) }

// Recorder updates the record of an object after its rules were applied.
type Recorder struct {
	object        *target.Object
	key, here     string
	before, after *operation.Traces
	known, next   record
	// held are the traces that stay as they are recorded; all holds every trace.
	held map[operation.Trace]bool
	all  bool
}

// NewRecorder reads the record of an object. It returns false if there is none and rules write nothing that lasts.
func NewRecorder(o *target.Object, key string, lasts bool) (Recorder, bool) {
	there := ""
	here, _ := o.Document.Original().Find("metadata", "annotations", key).Text()
	// Most old objects have no record, and need not be indexed. kube-apiserver escapes no letters.
	if here == "" && bytes.Contains(o.Old.Bytes(), []byte(path.Base(key)+`"`)) {
		there, _ = o.Old.Original().Find("metadata", "annotations", key).Text()
	}
	known := readRecord(here, there)
	if len(known) == 0 && !lasts {
		return Recorder{}, false
	}
	return Recorder{
		object: o, key: key, here: here, known: known, next: record{}, held: map[operation.Trace]bool{},
		before: operation.TracesIn(o.Document.Original()), after: operation.TracesIn(o.Document.Root()),
	}, true
}

// HoldAll keeps every recorded value: the rule that wrote it may exist, although its condition is false now.
func (r *Recorder) HoldAll() { r.all = true }

// Hold keeps the recorded values of these traces.
func (r *Recorder) Hold(traces ...operation.Trace) {
	for _, trace := range traces {
		r.held[trace] = true
	}
}

// Note records a write of a rule; kept means that the place kept the value of the old object.
func (r *Recorder) Note(write *operation.Write, value *operation.Resolved, kept bool) {
	for _, trace := range write.Traces(value) {
		if trace.Item == operation.AnyItem {
			r.Hold(trace)
		} else if entry, ok := r.entry(value, kept, trace); ok {
			r.next[trace] = entry
		} else if kept {
			r.Hold(trace)
		}
	}
}

// entry returns the record entry of one trace. It reports false if the rule did not change the value.
func (r *Recorder) entry(value *operation.Resolved, kept bool, trace operation.Trace) (recorded, bool) {
	if r.object.Form.Kind == "Secret" && !strings.HasPrefix(trace.Outer(), "metadata.") {
		// The annotation would reveal the former data.
		return recorded{}, false
	}
	before, after := r.before.Get(trace), r.after.Get(trace)
	earlier, ok := r.known[trace]
	if bytes.Equal(before, after) {
		return earlier, ok && earlier.Wrote == operation.Digest(after)
	}
	entry := recorded{Wrote: operation.Digest(after), Before: before}
	if ok && earlier.Wrote == operation.Digest(before) {
		// A rule wrote the former value, too.
		entry.Before = earlier.Before
	}
	if len(value.From) > 0 {
		// The former value may come from the Secret.
		entry.Before = nil
	}
	return entry, !kept && len(entry.Before) <= recordedBytes
}

// Finish restores the values that no rule writes now, unless the object has another value than the rule wrote. It then
// writes the new record.
func (r *Recorder) Finish() error {
	for _, trace := range r.known.traces() {
		if _, written := r.next[trace]; written {
			continue
		}
		if r.all || r.held[trace] || trace.Item != "" && r.held[trace.Any()] {
			r.next[trace] = r.known[trace]
			continue
		}
		if _, err := restore(r.after, trace, r.known[trace]); err != nil {
			return err
		}
	}
	if err := r.after.Flush(); err != nil {
		return err
	}
	return r.next.write(r.object, r.key, r.here)
}

// restore writes the former value. It returns false if the object does not have the value that the rule wrote.
func restore(traces *operation.Traces, trace operation.Trace, was recorded) (bool, error) {
	if _, reserved := contract.ReservedField(trace.Outer()); reserved {
		return true, nil
	}
	if operation.Digest(traces.Get(trace)) != was.Wrote {
		return false, nil
	}
	return true, traces.Restore(trace, was.Before)
}

// traces returns the recorded traces, sorted by their text.
func (r record) traces() []operation.Trace {
	return slices.SortedFunc(maps.Keys(r), func(a, b operation.Trace) int { return strings.Compare(a.String(), b.String()) })
}

// write writes the record unless the object has it already. It removes an empty or too long one.
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
	return set(o, key, document.Quote(string(raw)))
}

// readRecord returns the first text that is a valid record. It ignores invalid ones.
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

// Restored is an object without the values that, according to its records, rules wrote.
type Restored struct {
	// Object is the object as JSON, also without the annotations that Graft writes.
	Object []byte
	// Profiles lists the versions of profiles that mutated the object according to its marks: <profile>@<beginning of
	// the hash>. It is empty if there are no marks.
	Profiles []string
	// Changed lists recorded places that no longer have the value that a rule wrote. They are left as they are.
	Changed []string
}

// Restore returns the object in a cluster as it would be without Graft, according to its records. Places that Gardener
// writes at each reconciliation are not recorded and stay as they are. The error wraps one of package document.
func Restore(object []byte) (*Restored, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	taken, root := &Restored{}, parsed.Root()
	for _, set := range target.Sets() {
		taken.Profiles = append(taken.Profiles, versionsIn(get(root, markPrefix+string(set)))...)
		if err := taken.restore(root, readRecord(get(root, RecordKey(set)))); err != nil {
			return nil, fmt.Errorf("restoring values changed by rules of %s: %w", set, err)
		}
	}
	slices.Sort(taken.Profiles)
	taken.Profiles = slices.Compact(taken.Profiles)
	removeOwn(root)
	taken.Object = parsed.Bytes()
	return taken, nil
}

func (t *Restored) restore(root *document.Node, known record) error {
	traces := operation.TracesIn(root)
	for _, trace := range known.traces() {
		same, err := restore(traces, trace, known[trace])
		if err != nil {
			return err
		}
		if !same {
			t.Changed = append(t.Changed, trace.String())
		}
	}
	return traces.Flush()
}
