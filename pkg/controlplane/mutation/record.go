// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	// nothing is what a record says of a place that a rule removed.
	nothing = "-"
)

// record is what rules of a set wrote on an object, by the paths of the places.
type record map[string]recorded

// recorded is one place.
type recorded struct {
	// Wrote is the beginning of the hash of what a rule wrote.
	Wrote string `json:"wrote"`
	// Before is what stood there; nil: nothing did, or it is not told because a Secret is among what the value is made of.
	Before json.RawMessage `json:"before,omitempty"`
}

// lasts says whether the rule writes something that stays when it is gone.
func (r *rule) lasts() bool {
	return slices.ContainsFunc(r.writes, func(w operation.Write) bool {
		_, ok := operation.LastingPath(w.Place)
		return ok
	})
}

// keep brings the record of an object up to date after its rules were applied, and takes back what no rule writes any more.
func (s *selection) keep(o *target.Object, plan Plan) error {
	if s.record == "" {
		return nil
	}
	here, there := annotation(o.Document.Original(), s.record), ""
	if here == "" && o.Old != nil {
		there = annotation(o.Old.Original(), s.record)
	}
	known := readRecord(here, there)
	if len(known) == 0 && !s.lasts {
		return nil
	}
	next, held := plan.record(o, known)
	for _, path := range slices.Sorted(maps.Keys(known)) {
		if _, written := next[path]; written {
			continue
		}
		if held == nil || held[path] {
			next[path] = known[path]
		} else if err := known[path].takeBack(o, path); err != nil {
			return err
		}
	}
	return next.write(o, s.record, here)
}

// record is what the rules of the plan have written, and the places that are to stay as they are recorded; nil: all.
func (p Plan) record(o *target.Object, known record) (record, map[string]bool) {
	next, held := record{}, map[string]bool{}
	for _, planned := range p.Rules {
		if planned.Skipped != "" {
			// A condition that does not hold now is no rule that is gone.
			for i := range planned.rule.writes {
				if path, ok := operation.LastingPath(planned.rule.writes[i].Place); ok && held != nil {
					held[path] = true
				}
			}
			if planned.rule.family != nil || planned.rule.whole != nil {
				held = nil
			}
			continue
		}
		for _, step := range planned.Steps {
			path, ok := operation.LastingPath(step.Place)
			if !ok || step.Overridden != "" {
				continue
			}
			if entry, ok := step.recordAt(o, path, known); ok {
				next[path] = entry
			} else if held != nil && step.Kept {
				held[path] = true
			}
		}
	}
	return next, held
}

// recordAt is the record of one place; there is none for what was so without the rule.
func (s Step) recordAt(o *target.Object, path string, known record) (recorded, bool) {
	if o.Form.Kind == "Secret" && !strings.HasPrefix(path, "metadata.") {
		// The annotation would tell what the data was.
		return recorded{}, false
	}
	before, after := canonical(operation.Find(o.Document.Original(), path)), canonical(operation.Find(o.Document.Root(), path))
	earlier, ok := known[path]
	if bytes.Equal(before, after) {
		return earlier, ok && earlier.Wrote == digestOf(after)
	}
	entry := recorded{Wrote: digestOf(after), Before: before}
	if ok && earlier.Wrote == digestOf(before) {
		// What stood there was a rule's, too.
		entry.Before = earlier.Before
	}
	if len(s.Value.From) > 0 {
		// It may be what the Secret held before.
		entry.Before = nil
	}
	return entry, !s.Kept && len(entry.Before) <= recordedBytes
}

// takeBack makes a place what it was, if what a rule wrote still stands there.
func (r recorded) takeBack(o *target.Object, path string) error {
	if _, reserved := contract.ReservedField(path); reserved || digestOf(canonical(operation.Find(o.Document.Root(), path))) != r.Wrote {
		return nil
	}
	return operation.Restore(o.Document.Root(), path, r.Before)
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
		var read record
		if raw != "" && len(raw) <= recordBytes && json.Unmarshal([]byte(raw), &read) == nil {
			return read
		}
	}
	return nil
}

func annotation(root *document.Node, key string) string {
	return text(root.Find("metadata", "annotations").Get(key))
}

// canonical is a value in the one form that hashes compare; nil for what is not there.
func canonical(n *document.Node) []byte {
	if n == nil {
		return nil
	}
	raw, err := json.Marshal(n.Value())
	if err != nil {
		return nil
	}
	return raw
}

func digestOf(value []byte) string {
	if value == nil {
		return nothing
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:4])
}
