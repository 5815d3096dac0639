// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

const (
	// memoryEntries and memoryBytes bound what a memory holds, memoryEntryBytes what each entry does.
	memoryEntries    = 1024
	memoryBytes      = 8 << 20
	memoryEntryBytes = 64 << 10
	// memoryGlances is among how many of the last texts one has to come again to be remembered.
	memoryGlances = 256
)

// memory holds what rules made of the two texts of the kubelet, for objects that have the same texts: the rules, with their values, and the texts are
// the key, and compared as a whole. What it holds goes with the program. It is safe for use by several at the same time
// (docs/decisions/0016-what-became-of-kubelets-texts.md).
type memory struct {
	seed maphash.Seed
	// glances are hashes of texts that came, each in the place that it says.
	glances [memoryGlances]atomic.Uint64

	lock     sync.RWMutex
	outcomes map[uint64]*outcome
	order    []uint64 // the hashes of outcomes, the oldest first
	bytes    int
}

// outcome is what a run of rules made of texts.
type outcome struct {
	rules []rememberedRule
	texts target.KubeletTexts
	edit  target.KubeletEdit
	// size is about how many bytes it takes.
	size int
}

// rememberedRule is a rule with its steps, and whether it changed something.
type rememberedRule struct {
	rule    *rule
	steps   []rememberedStep
	changed bool
}

type rememberedStep struct {
	overridden string
	value      operation.Resolved
}

func newMemory() *memory { return &memory{seed: maphash.MakeSeed(), outcomes: map[uint64]*outcome{}} }

// run is how many of the first rules write nothing but the two texts of the kubelet, from values, or are skipped; 0 where none of them writes.
func run(rules []PlannedRule) int {
	end := 0
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if !rules[i].memorable() {
			break
		}
		end = i + 1
	}
	return end
}

// memorable says whether all that the rule does depends on its values and on the two texts of the kubelet.
func (p *PlannedRule) memorable() bool {
	return p.rule.inKubelet && !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kept })
}

// writesKubelet says whether all that the rule writes stands in the two texts of the kubelet.
func (r *rule) writesKubelet() bool {
	return r.target.Component == "kubelet" && r.family == nil && r.whole == nil && len(r.writes) > 0 &&
		!slices.ContainsFunc(r.writes, func(w operation.Write) bool {
			return !operation.InText(w.Place.Kind) || w.Place.Kind == operation.UnitOption && w.Place.Container != target.KubeletUnit
		})
}

// memoryOf is the memory of the program that may be used for the selection; nil: none.
func (s *selection) memoryOf(p *Program) *memory {
	if s.confides {
		return nil
	}
	return p.memory
}

// confides says whether one of the rules for the kubelet may write there what a Secret holds, or another part of the object, which may hold tokens: an
// object that was admitted before still has it in the texts that the other rules are given. Then nothing is remembered.
func confides(rules []*rule) bool {
	return slices.ContainsFunc(rules, func(r *rule) bool {
		if r.target.Component != "kubelet" {
			return false
		}
		var references []string
		if r.family != nil {
			references = r.family.references()
		}
		for i := range r.writes {
			references = append(references, r.writes[i].Value.References()...)
		}
		return len(r.scope.secretsIn(references)) > 0 || r.scope.tellsObject(references)
	})
}

// inConfiguration says whether one of the rules edits the configuration file. The unit is read by every rule for the kubelet.
func inConfiguration(rules []PlannedRule) bool {
	for i := range rules {
		for j := range rules[i].Steps {
			step := &rules[i].Steps[j]
			if step.Overridden == "" && (step.Place.Kind == operation.KubeletField || step.Place.Kind == operation.FeatureGate) {
				return true
			}
		}
	}
	return false
}

// apply applies a run of rules, from memory if it can. With an error, it says how many rules were applied, the one to blame included.
func (m *memory) apply(rules []PlannedRule, o *target.Object, applied []Applied) (int, error) {
	if err := o.Flush(); err != nil {
		return 1, applyFailure("the units and files", err)
	}
	texts := o.KubeletTexts(inConfiguration(rules))
	hash := m.hash(rules, texts)
	if known := m.find(hash, rules, texts); known != nil {
		if err := o.EditKubelet(known.edit); err != nil {
			return 1, applyFailure("the units and files", err)
		}
		known.report(rules, applied)
		return len(rules), nil
	}
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if err := rules[i].apply(o, &applied[i], nil); err != nil {
			return i + 1, err
		}
	}
	if !m.again(hash) {
		return len(rules), nil
	}
	if err := o.Flush(); err != nil {
		return len(rules), applyFailure("the units and files", err)
	}
	if edit, ok := o.KubeletEdit(texts); ok {
		m.keep(hash, outcomeOf(rules, applied, texts, edit))
	}
	return len(rules), nil
}

// hash is that of the rules with their values, and of the texts.
func (m *memory) hash(rules []PlannedRule, texts target.KubeletTexts) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	_, _ = h.Write(texts.Unit)
	_ = h.WriteByte(0)
	_, _ = h.Write(texts.Configuration)
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		maphash.WriteComparable(&h, rules[i].rule)
		for j := range rules[i].Steps {
			for _, text := range rules[i].Steps[j].Value.Texts {
				_, _ = h.WriteString(text)
			}
			_, _ = h.Write(rules[i].Steps[j].Value.JSON)
		}
	}
	return h.Sum64()
}

// find returns the outcome for the rules and texts; nil if there is none.
func (m *memory) find(hash uint64, rules []PlannedRule, texts target.KubeletTexts) *outcome {
	m.lock.RLock()
	found := m.outcomes[hash]
	m.lock.RUnlock()
	if found == nil || !bytes.Equal(found.texts.Unit, texts.Unit) || !bytes.Equal(found.texts.Configuration, texts.Configuration) || !found.of(rules) {
		return nil
	}
	return found
}

// of says whether the outcome is of these rules and values.
func (k *outcome) of(rules []PlannedRule) bool {
	next := 0
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		if next == len(k.rules) || k.rules[next].rule != rules[i].rule || len(k.rules[next].steps) != len(rules[i].Steps) {
			return false
		}
		for j, step := range k.rules[next].steps {
			if now := &rules[i].Steps[j]; step.overridden != now.Overridden || !step.value.Equal(now.Value) {
				return false
			}
		}
		next++
	}
	return next == len(k.rules)
}

// report says of the rules what became of them.
func (k *outcome) report(rules []PlannedRule, applied []Applied) {
	next := 0
	for i := range rules {
		if rules[i].Skipped == "" {
			rules[i].report(&applied[i], k.rules[next].changed)
			next++
		}
	}
}

// outcomeOf is the outcome of rules that were applied, with copies of all.
func outcomeOf(rules []PlannedRule, applied []Applied, texts target.KubeletTexts, edit target.KubeletEdit) *outcome {
	k := &outcome{edit: edit, texts: target.KubeletTexts{Unit: bytes.Clone(texts.Unit), Configuration: bytes.Clone(texts.Configuration)}}
	for i := range rules {
		if rules[i].Skipped != "" {
			continue
		}
		remembered := rememberedRule{rule: rules[i].rule, changed: applied[i].Outcome == Changed}
		for _, step := range rules[i].Steps {
			value := operation.Resolved{Absent: step.Value.Absent, JSON: bytes.Clone(step.Value.JSON), Texts: slices.Clone(step.Value.Texts)}
			for t, text := range value.Texts {
				value.Texts[t] = strings.Clone(text)
			}
			remembered.steps = append(remembered.steps, rememberedStep{step.Overridden, value})
		}
		k.rules = append(k.rules, remembered)
	}
	k.size = k.measure()
	return k
}

// measure is about how many bytes the outcome takes, with all that it refers to and its place in the memory.
func (k *outcome) measure() int {
	// The place is a hash and a pointer in the map, and the hash in the order.
	size := 3*sizeOf[uint64]() + sizeOf[outcome]() + cap(k.texts.Unit) + cap(k.texts.Configuration) + k.edit.Bytes() + cap(k.rules)*sizeOf[rememberedRule]()
	for _, r := range k.rules {
		size += cap(r.steps) * sizeOf[rememberedStep]()
		for _, s := range r.steps {
			size += len(s.overridden) + cap(s.value.JSON) + cap(s.value.Texts)*sizeOf[string]()
			for _, t := range s.value.Texts {
				size += len(t)
			}
		}
	}
	return size
}

func sizeOf[T any]() int { return int(reflect.TypeFor[T]().Size()) }

// again says whether texts with the hash have come not long ago, and notes that they have.
func (m *memory) again(hash uint64) bool { return m.glances[hash%memoryGlances].Swap(hash) == hash }

// keep keeps an outcome, and drops the oldest ones where there is no room.
func (m *memory) keep(hash uint64, k *outcome) {
	if k.size > memoryEntryBytes {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.outcomes[hash] != nil {
		return // another admission was faster, or it is of other texts
	}
	for len(m.order) > 0 && (len(m.order) == memoryEntries || m.bytes+k.size > memoryBytes) {
		m.bytes -= m.outcomes[m.order[0]].size
		delete(m.outcomes, m.order[0])
		m.order = m.order[1:]
	}
	m.outcomes[hash], m.order, m.bytes = k, append(m.order, hash), m.bytes+k.size
}
