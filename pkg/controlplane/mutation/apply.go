// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// exemption returns a function that reports whether an applied rule gave a reason to change a flag of a target's own
// container, or, for an empty flag, its inputs.
func (p Plan) exemption() contract.Exemption {
	return func(flag string) bool {
		for _, planned := range p.Rules {
			if !planned.rule.override || planned.Skipped != "" {
				continue
			}
			for _, step := range planned.Steps {
				own := step.Place.Container == planned.rule.target.Container && flagOf(step.Place) == flag
				if flag == "" || own || definesKubelet(step.Place) {
					return true
				}
			}
		}
		return false
	}
}

// requestFor returns the admission request for the creation of an object.
func requestFor(root *document.Node, garden bool) Request {
	version := schema.FromAPIVersionAndKind(text(root.Get("apiVersion")), text(root.Get("kind")))
	return Request{
		Garden: garden, Operation: "CREATE", Namespace: text(root.Find("metadata", "namespace")), Name: text(root.Find("metadata", "name")),
		Group: version.Group, Version: version.Version, Kind: version.Kind,
	}
}

// apply makes the edits of the plan and reports the outcome of each rule. On an error, the last reported rule is the
// cause, unless all rules were reported. Outcomes in the memory, which may be nil, are reused; an observer still sees
// each step.
func (p Plan) apply(o *target.Object, observe Observer, known *memory) ([]Applied, error) {
	var (
		applied    = make([]Applied, len(p.Rules))
		references []operation.Reference
		lost       bool
	)
	for i := range p.Rules {
		applied[i] = p.Rules[i].unapplied()
	}
	remembered := 0 // the rules before it are applied
	for i := range p.Rules {
		planned := &p.Rules[i]
		if planned.Skipped != "" || i < remembered {
			continue
		}
		if known != nil && observe == nil {
			if length := run(p.Rules[i:]); length > 0 {
				done, err := known.apply(p.Rules[i:i+length], o, applied[i:i+length])
				if err != nil {
					return applied[:i+done], err
				}
				remembered = i + length
				continue
			}
		}
		losses := o.Document.Losses()
		if err := planned.apply(o, &applied[i], observe); err != nil {
			return applied[:i+1], err
		}
		more := planned.references(o)
		references = append(references, more...)
		lost = lost || len(more) > 0 && o.Document.Losses() > losses
	}
	if err := o.Flush(); err != nil {
		return nil, applyFailure("the units and files", err)
	}
	if len(references) > 0 && o.Form.Has(target.PodTemplate) {
		if err := operation.WriteReferences(o, references, lost); err != nil {
			return nil, applyFailure("the reference annotations", err)
		}
		if observe != nil {
			observe(Applied{Rule: "reference annotations", Outcome: Changed}, Step{}, o)
		}
	}
	return applied, nil
}

// unapplied returns the outcome of the rule before it is applied.
func (p *PlannedRule) unapplied() Applied {
	return Applied{Profile: p.rule.profile, Rule: p.rule.name, Item: p.rule.item, Position: p.rule.position, Outcome: Skipped, Reason: p.Skipped}
}

func (p *PlannedRule) apply(o *target.Object, applied *Applied, observe Observer) error {
	inTexts := p.inTexts()
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	before := o.Edits()
	if p.rule.target.Component == "kubelet" {
		// The contract requires a single command line, even if the rule edits other fields.
		if _, err := o.CommandLine(p.rule.target.Container); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	for _, step := range p.Steps {
		if step.Overridden != "" {
			continue
		}
		if err := step.apply(o); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
		if observe == nil {
			continue
		}
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
		observe(*applied, step, o)
	}
	if !inTexts {
		if err := o.Flush(); err != nil {
			return applyFailure("rule "+p.rule.String(), err)
		}
	}
	p.report(applied, o.Edits() != before)
	return nil
}

// report sets the outcome of the rule after it was applied.
func (p *PlannedRule) report(applied *Applied, changed bool) {
	overridden := 0
	for i := range p.Steps {
		if by := p.Steps[i].Overridden; by != "" {
			overridden++
			applied.Reason = by
		}
	}
	switch {
	case overridden == len(p.Steps):
		applied.Outcome = Overridden
	case changed:
		applied.Outcome = Changed
	default:
		applied.Outcome = Unchanged
	}
}

// inTexts reports whether the rule edits only embedded texts. The object reads these once and can write them back after
// all rules.
func (p *PlannedRule) inTexts() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return !operation.InText(s.Place.Kind) })
}

// references returns the steps of the rule that may have added or removed a reference to a Secret or ConfigMap.
func (p *PlannedRule) references(o *target.Object) []operation.Reference {
	var references []operation.Reference
	for _, step := range p.Steps {
		if step.Overridden != "" || !operation.MayReference(step.Place.Kind) {
			continue
		}
		value := step.Value
		if step.Kept {
			value = operation.Standing(o, step.Place)
		}
		references = append(references, operation.Reference{Kind: step.Place.Kind, Value: value})
	}
	return references
}

func applyFailure(what string, err error) *Failure {
	switch {
	case errors.Is(err, target.ErrContainerMissing):
		return fail(ContainerMissing, err, "%s", what)
	case errors.Is(err, document.ErrDuplicateKey), errors.Is(err, document.ErrTooLarge), errors.Is(err, document.ErrTooDeep):
		return fail(ObjectUnreadable, err, "%s", what)
	case errors.Is(err, target.ErrNested), errors.Is(err, document.ErrKind):
		return fail(NestedUnreadable, err, "%s", what)
	case errors.Is(err, operation.ErrValue):
		return fail(ExpressionFailed, err, "%s", what)
	case errors.Is(err, target.ErrNodePartMissing):
		return fail(NodePartMissing, err, "%s", what)
	case errors.Is(err, contract.ErrBroken):
		return fail(ContractBroken, err, "%s", what)
	default:
		return fail(Internal, err, "%s", what)
	}
}

const (
	// memoryEntries and memoryBytes limit the size of a memory, and memoryEntryBytes that of each entry.
	memoryEntries    = 1024
	memoryBytes      = 8 << 20
	memoryEntryBytes = 64 << 10
	// memoryGlances is among how many of the last texts one has to come again to be remembered.
	memoryGlances = 256
)

// memory caches the results of applying rules to the kubelet's two texts. Rules with their values and the texts form
// the key, and are compared completely. The cache lives as long as the program. It is safe for concurrent use
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

// outcome holds the result of applying a run of rules to texts.
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

// run returns the number of leading rules that are skipped or write only the kubelet's two texts from values. It
// returns 0 if none of them writes.
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

// memorable reports whether the effect of the rule depends only on its values and on the kubelet's two texts.
func (p *PlannedRule) memorable() bool {
	return p.rule.inKubelet && !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kept })
}

// memoryFor returns the memory of the program if the selection may use it, or nil.
func memoryFor(s *selection, p *Program) *memory {
	if s.confides {
		return nil
	}
	return p.memory
}

// confides reports whether a rule for the kubelet may write a value from a Secret or from another part of the object,
// which may contain tokens. An object that was admitted before still has such a value in the texts that other rules
// read, so that nothing may be cached.
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

// inConfiguration reports whether one of the rules edits the configuration file. Every rule for the kubelet reads the
// unit.
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

// hash returns the hash of the rules with their values and the texts.
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

// of reports whether the outcome belongs to these rules and values.
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

// report sets the outcomes of the rules.
func (k *outcome) report(rules []PlannedRule, applied []Applied) {
	next := 0
	for i := range rules {
		if rules[i].Skipped == "" {
			rules[i].report(&applied[i], k.rules[next].changed)
			next++
		}
	}
}

// outcomeOf returns the outcome of applied rules. It copies everything that it keeps.
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

// measure estimates the size of the outcome in bytes, including its entry in the memory.
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

// again reports whether texts with this hash were seen recently, and records the hash.
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

// recordAnnotation and the name of the set form the annotation in which Graft records the values that it replaced in
// places that Gardener does not write at each reconciliation.
const recordAnnotation = annotationPrefix + "written-"

const (
	// recordedBytes limits the length of a recorded value. Longer values are not restored.
	recordedBytes = 1024
	// recordBytes is the longest record that is written and read; of an object with a longer one, nothing is taken back.
	recordBytes = 64 << 10
)

// record holds the places that rules of a set wrote and that Gardener does not write again.
type record map[operation.Trace]recorded

// recorded is one place.
type recorded struct {
	// Wrote is the beginning of the hash of the value that a rule wrote.
	Wrote string `json:"wrote"`
	// Before is the former value. It is nil if there was none, or if the new value contains a Secret.
	Before json.RawMessage `json:"before,omitempty"`
}

// lastsOnObject reports whether the rule writes a value that remains after the rule is removed.
func lastsOnObject(r *rule) bool {
	return slices.ContainsFunc(r.writes, func(w operation.Write) bool { return len(w.Traces(nil)) > 0 })
}

// writeRecord updates the record of an object after its rules were applied, and restores the values that no rule writes
// now.
func writeRecord(s *selection, o *target.Object, plan Plan) error {
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

// note records the places that the rules of the plan wrote.
func (r *recorder) note(p Plan) {
	for _, planned := range p.Rules {
		if planned.Skipped != "" {
			// A condition that does not hold now is no rule that is gone.
			r.all = r.all || planned.rule.family != nil || planned.rule.whole != nil
			for i := range planned.rule.writes {
				r.hold(planned.rule.writes[i].Traces(nil)...)
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
	for _, trace := range s.write.Traces(&s.Value) {
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

// entry returns the record entry of one trace. It reports false if the rule did not change the value.
func (r *recorder) entry(s Step, trace operation.Trace) (recorded, bool) {
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
	if len(s.Value.From) > 0 {
		// The former value may come from the Secret.
		entry.Before = nil
	}
	return entry, !s.Kept && len(entry.Before) <= recordedBytes
}

// takeBack restores the values that no rule writes now, if the object still has the value that the rule wrote.
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

func annotation(root *document.Node, key string) string {
	return text(root.Find("metadata", "annotations").Get(key))
}

// annotationPrefix is the prefix of the annotations in which Graft keeps its own data about an object. Rules may not
// write them.
const annotationPrefix = "graft.provider.extensions.gardener.cloud/"

// markAnnotation and the name of the set form the annotation that names the profiles, with their versions, that have
// rules for an object.
const markAnnotation = annotationPrefix + "mutated-by-"

// markDigits is the number of digits of a profile's hash in a mark.
const markDigits = 8

// OptOutAnnotation on a namespace takes the control plane in it out of Graft's hands. The value is the reason; one that is empty does not count.
const OptOutAnnotation = annotationPrefix + "opt-out"

// Marks returns the versions of the profiles with which the webhook of a set last mutated the object, as received:
// <profile>@<beginning of the hash>. It returns none if the webhook did not mutate it or the annotation was removed.
func Marks(object *document.Document, set target.Set) []string {
	return versionsIn(object.CameText("metadata", "annotations", markAnnotation+string(set)))
}

// mark is an annotation that says which profiles mutated an object. The zero mark is none.
type mark struct {
	key string
	// value is a string of JSON: <profile>@<hash>, with commas between several; nil for none.
	value []byte
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

// TakenBack is an object without the values that, according to its records, rules wrote.
type TakenBack struct {
	// Object is the object as JSON, also without the annotations that Graft writes.
	Object []byte
	// Profiles are the versions of profiles that mutated the object, as its marks name them: <profile>@<beginning of the hash>. None:
	// Graft did not, or without marks.
	Profiles []string
	// Changed lists recorded places that no longer have the value that a rule wrote. They are left as they are.
	Changed []string
}

// TakeBack returns the object in a cluster as it would be without Graft, according to its records. Places that Gardener
// writes at each reconciliation are not recorded and stay as they are. The error wraps one of package document.
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

// Unmarked returns an object, as JSON, without Graft's annotations.
func Unmarked(object []byte) ([]byte, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	removeOwn(parsed.Root())
	return parsed.Bytes(), nil
}

// Lasts reports whether the value that the step writes remains after its rule is removed. Records contain such values,
// because Gardener does not write them again.
func (s Step) Lasts() bool { return s.write != nil && len(s.write.Traces(nil)) > 0 }

// RemovesNothing reports whether the step removes a value that no sample of the object has, because Gardener does not
// write it there. It returns false if there is no sample.
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

// Version returns the name of the version in a mark.
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

// removeOwn removes Graft's annotations, and also the annotations field if it becomes empty.
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

// apply writes the place.
func (s Step) apply(o *target.Object) error {
	if s.Kept {
		return s.write.Keep(o)
	}
	return s.write.Apply(o, s.Value)
}
