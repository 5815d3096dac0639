// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
)

const (
	period = 5 * time.Minute
	grace  = 10 * time.Minute
)

var (
	start     = time.Unix(1e9, 0)
	errBroken = errors.New("the server does not answer")
)

// world is a reconciler with its environment: allocations and living holders.
type world struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	held  []network.Allocation
	// living are holders, as Kind:namespace/name:UID.
	living []string
	// uncounted are kinds that cannot be counted, and stale how old a count is.
	uncounted map[string]error
	stale     time.Duration
	// counts are how many were made, and counting is called before each.
	counts   int
	counting func()
	// direct are the holders that only the source itself finds; before is called before the source.
	direct []string
	before func()
	freed  []string

	reported []string
	done     gc.Summary
	failed   []string
}

func (w *world) All(_ context.Context, each func(network.Allocation) error) error {
	for _, a := range slices.Clone(w.held) {
		if err := each(a); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) release(_ context.Context, owner network.Owner, since time.Time) error {
	w.held = slices.DeleteFunc(w.held, func(a network.Allocation) bool {
		is := a.Owner == owner && a.Since.Equal(since)
		if is {
			w.freed = append(w.freed, owner.Key)
		}
		return is
	})
	return nil
}

func same(one string, h network.Holder) bool {
	parts := strings.Split(one, ":")
	if parts[0] != h.Kind {
		return false
	}
	if h.UID != "" {
		return parts[2] == h.UID
	}
	return parts[1] == h.Namespace+"/"+h.Name
}

func (w *world) Count(_ context.Context, kind string) (*gc.Population, error) {
	if err := w.uncounted[kind]; err != nil {
		return nil, err
	}
	if w.counts++; w.counting != nil {
		w.counting()
	}
	counted := &gc.Population{
		At: w.clock.Now().Add(time.Millisecond - w.stale), Node: "here", UIDs: map[string]struct{}{}, Names: map[string]struct{}{},
	}
	for _, one := range w.living {
		if parts := strings.Split(one, ":"); parts[0] == kind {
			counted.UIDs[parts[2]], counted.Names[parts[1]] = struct{}{}, struct{}{}
		}
	}
	return counted, nil
}

func (w *world) Lives(_ context.Context, h network.Holder) (bool, error) {
	if w.before != nil {
		w.before()
	}
	return slices.ContainsFunc(append(w.direct, w.living...), func(one string) bool { return same(one, h) }), nil
}

func newWorld(t *testing.T) *world {
	return &world{t: t, clock: clocktesting.NewFakeClock(start), uncounted: map[string]error{"Container": fmt.Errorf("%w: Container", gc.ErrUncounted)}}
}

func (w *world) reconciler(o gc.Options) *gc.Reconciler {
	o.Ledger, o.Release, o.Clock, o.Period, o.Grace = w, w.release, w.clock, period, grace
	if o.Census == nil {
		o.Census = w
	}
	o.Report = func(s gc.Suspect) {
		w.reported = append(w.reported, fmt.Sprintf("%s %s first=%v freed=%v", s.Allocation.Owner.Key, s.Reason, s.First, s.Freed))
	}
	o.Done = func(s gc.Summary) { w.done = s }
	if o.Elsewhere == nil {
		o.Elsewhere = nowhere
	}
	o.Failed = func(err error) { w.failed = append(w.failed, err.Error()) }
	return gc.New(o)
}

// hold adds an allocation of a holder, Kind:namespace/name:UID.
func (w *world) hold(key, holder string, age time.Duration) {
	parts := strings.Split(holder, ":")
	namespace, name, _ := strings.Cut(parts[1], "/")
	w.held = append(w.held, network.Allocation{
		Owner: network.Owner{Contract: "test", Key: key}, State: network.Bound, Since: w.clock.Now().Add(-age),
		Holder: network.Holder{Kind: parts[0], Namespace: namespace, Name: name, UID: parts[2], Node: "here"},
	})
}

// pass runs a pass, and returns its report.
func (w *world) pass(r *gc.Reconciler) string {
	w.t.Helper()
	w.reported = nil
	if err := r.RunOnce(w.t.Context()); err != nil {
		w.reported = append(w.reported, "error: "+err.Error())
	}
	return strings.Join(w.reported, "; ")
}

func (w *world) want(what, want, got string) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestLeakIsFreedInSecondPass checks that exactly the allocations of missing holders are freed, and only in the second pass.
func TestLeakIsFreedInSecondPass(t *testing.T) {
	for _, free := range []bool{true, false} {
		w := newWorld(t)
		w.living = []string{"ResourceClaim:x/live:1", "Pod:x/named:7"}
		w.hold("live", "ResourceClaim:x/live:1", time.Hour)
		w.hold("gone", "ResourceClaim:x/gone:2", time.Hour)
		w.hold("same name, another UID", "ResourceClaim:x/live:3", time.Hour)
		w.hold("by name", "Pod:x/named:", time.Hour)
		w.hold("container", "Container:/c:c", time.Hour)
		w.hold("nobody", ":/:", time.Hour)
		w.held[0].Owner.Contract = "other"
		r := w.reconciler(gc.Options{Free: free})
		w.want("the first pass", "gone missing first=true freed=false; same name, another UID missing first=true freed=false", w.pass(r))
		w.clock.Step(period - time.Second)
		w.want("a pass that comes too early", "gone missing first=false freed=false; same name, another UID missing first=false freed=false", w.pass(r))
		w.clock.Step(time.Second)
		freed := fmt.Sprint(free)
		w.want("the second", "gone gone first=true freed="+freed+"; same name, another UID gone first=true freed="+freed, w.pass(r))
		w.want("summary", fmt.Sprintf("%+v", gc.Summary{Held: 6, Unchecked: 2, Suspects: map[gc.Reason]int{gc.Gone: 2}, Freed: map[bool]int{true: 2}[free]}), fmt.Sprintf("%+v", w.done))
		after := map[bool]string{true: "", false: "gone gone first=false freed=false; same name, another UID gone first=false freed=false"}
		w.want("the third", after[free], w.pass(r))
		if len(w.failed) > 0 || len(w.held) != map[bool]int{true: 4, false: 6}[free] {
			t.Errorf("with free %v: %d allocations are held, and releases failed: %q", free, len(w.held), w.failed)
		}
	}
}

// TestAllocationsThatMustStay checks allocations that must not be freed, each with an event between the passes.
func TestAllocationsThatMustStay(t *testing.T) {
	for name, c := range map[string]struct {
		holder string
		age    time.Duration
		// before and between happen before the first pass, and between the two.
		before, between func(w *world)
	}{
		"younger than the grace period":   {holder: "Pod:x/p:1", age: grace - period - time.Second},
		"counted before the allocation":   {holder: "Pod:x/p:1", age: grace, before: func(w *world) { w.stale = time.Hour }},
		"missing in the first count only": {holder: "Pod:x/p:1", age: time.Hour, between: func(w *world) { w.living = []string{"Pod:x/p:1"} }},
		"the second count fails":          {holder: "Pod:x/p:1", age: time.Hour, between: func(w *world) { w.uncounted["Pod"] = errBroken }},
		"the kind is not served any more": {holder: "Pod:x/p:1", age: time.Hour, between: func(w *world) { w.uncounted["Pod"] = gc.ErrUncounted }},
		"found by the direct query":       {holder: "Pod:x/p:1", age: time.Hour, before: func(w *world) { w.direct = []string{"Pod:x/p:1"} }},
		"found in the count before the release": {holder: "Pod:x/p:1", age: time.Hour, before: func(w *world) {
			w.counting = func() {
				if w.counts == 3 { // one in each pass, and one directly before it is freed
					w.living = []string{"Pod:x/p:1"}
				}
			}
		}},
		"a holder without UID that returns by name":       {holder: "Pod:x/p:", age: time.Hour, between: func(w *world) { w.living = []string{"Pod:x/p:9"} }},
		"a holder of another node":                        {holder: "Pod:x/p:1", age: time.Hour, before: func(w *world) { w.held[0].Holder.Node = "elsewhere" }},
		"a holder without a kind":                         {holder: ":x/p:1", age: 1000 * time.Hour},
		"released and allocated again":                    {holder: "Pod:x/p:1", age: time.Hour, between: func(w *world) { w.held[0].Since = w.clock.Now().Add(-grace - time.Second) }},
		"released and allocated again during the release": {holder: "Pod:x/p:1", age: time.Hour, before: func(w *world) { w.before = func() { w.held[0].Since = w.clock.Now() } }},
		"keeps an allocation that is being released":      {holder: "Pod:x/p:1", age: time.Hour, between: func(w *world) { w.held[0].State = network.Releasing }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.hold("a", c.holder, c.age)
			r := w.reconciler(gc.Options{Free: true})
			if c.before != nil {
				c.before(w)
			}
			w.pass(r)
			w.clock.Step(period)
			if c.between != nil {
				c.between(w)
			}
			w.pass(r)
			if len(w.freed) > 0 || len(w.held) != 1 {
				t.Errorf("%q was freed", w.freed)
			}
		})
	}
}

// TestMissedPassResetsCount checks that a missed pass resets the count of consecutive passes.
func TestMissedPassResetsCount(t *testing.T) {
	w := newWorld(t)
	w.hold("a", "Pod:x/p:1", time.Hour)
	r := w.reconciler(gc.Options{Free: true})
	w.pass(r)
	w.uncounted["Pod"] = errBroken
	w.clock.Step(period)
	w.pass(r)
	delete(w.uncounted, "Pod")
	w.clock.Step(period)
	w.want("when it is back", "a missing first=true freed=false", w.pass(r))
	w.clock.Step(period)
	w.want("a period later", "a gone first=true freed=true", w.pass(r))
	w.want("failures", "listing the holders of kind Pod: the server does not answer", strings.Join(w.failed, "; "))
}

// TestSnapshotWithoutHoldersFreesNothing checks that a snapshot without any holder, such as from another cluster, frees nothing automatically, and
// that Sweep frees them on request.
func TestSnapshotWithoutHoldersFreesNothing(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.hold(fmt.Sprint(i), fmt.Sprintf("Pod:x/p:%d", i), time.Hour)
	}
	r := w.reconciler(gc.Options{Free: true})
	w.pass(r)
	w.clock.Step(period)
	if got := w.pass(r); len(w.freed) > 0 || !w.done.Withheld || !strings.Contains(got, "error: 20 of 20 allocations have no living holder") {
		t.Errorf("%q was freed: %s", w.freed, got)
	}
	sweep := func(dry bool) (gone, freed int) {
		if err := r.Sweep(t.Context(), dry, func(s gc.Suspect) error {
			if s.Reason == gc.Gone {
				gone++
			}
			if s.Freed {
				freed++
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		return gone, freed
	}
	if gone, freed := sweep(true); gone != 20 || freed != 0 {
		t.Errorf("a dry run: %d are gone, %d freed", gone, freed)
	}
	if gone, freed := sweep(false); gone != 20 || freed != 20 || len(w.held) != 0 {
		t.Errorf("%d are gone, %d freed", gone, freed)
	}
}

// nowhere says that no other server manages an allocation.
func nowhere(network.Allocation) bool { return false }

// TestWithoutClusterReportsByAge reports by age, and frees nothing.
func TestWithoutClusterReportsByAge(t *testing.T) {
	w := newWorld(t)
	w.hold("young", "Pod:x/p:1", time.Hour)
	w.hold("old", "Pod:x/p:2", 48*time.Hour)
	r := gc.New(gc.Options{
		Ledger: w, Clock: w.clock, Free: true, Oldest: 24 * time.Hour, Elsewhere: nowhere, Done: func(gc.Summary) {},
		Report: func(s gc.Suspect) {
			w.reported = append(w.reported, s.Allocation.Owner.Key+" "+string(s.Reason))
		},
	})
	w.want("suspects", "old old", w.pass(r))
	w.clock.Step(time.Hour)
	w.want("suspects", "old old", w.pass(r))
}

// TestPassesRunUntilTheEnd checks that passes run until the end.
func TestPassesRunUntilTheEnd(t *testing.T) {
	w := newWorld(t)
	w.hold("a", "Pod:x/p:1", time.Hour)
	passes := make(chan gc.Summary)
	r := gc.New(gc.Options{
		Ledger: w, Release: w.release, Census: w, Clock: w.clock, Free: true, Elsewhere: nowhere,
		Report: func(gc.Suspect) {}, Done: func(s gc.Summary) { passes <- s },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	if s := <-passes; s.Suspects[gc.Missing] != 1 {
		t.Errorf("got %+v", s)
	}
	w.clock.Step(5 * time.Minute)
	if s := <-passes; s.Freed != 1 {
		t.Errorf("got %+v", s)
	}
	cancel()
	<-ended
}

// TestAllocationsOfOtherComponentsStay checks that old allocations that another component manages stay, even if their holder can be checked.
func TestAllocationsOfOtherComponentsStay(t *testing.T) {
	w := newWorld(t)
	w.hold("ours", "Pod:x/gone:1", time.Hour)
	w.hold("another's", "Pod:x/gone:2", 48*time.Hour)
	w.hold("another's for long", "Container:/c:c", 48*time.Hour)
	r := w.reconciler(gc.Options{
		Free: true, Oldest: 24 * time.Hour, Elsewhere: func(a network.Allocation) bool { return strings.HasPrefix(a.Owner.Key, "another's") },
	})
	w.want("the first pass", "ours missing first=true freed=false", w.pass(r))
	w.clock.Step(period)
	w.want("the second", "ours gone first=true freed=true", w.pass(r))
	w.want("summary", fmt.Sprintf("%+v", gc.Summary{Held: 3, Suspects: map[gc.Reason]int{gc.Gone: 1}, Freed: 1}), fmt.Sprintf("%+v", w.done))
}

func TestHas(t *testing.T) {
	uids, names := map[string]struct{}{"1": {}}, map[string]struct{}{"x/a": {}}
	everywhere, here := &gc.Population{UIDs: uids, Names: names}, &gc.Population{UIDs: uids, Names: names, Node: "here"}
	for name, c := range map[string]struct {
		of             *gc.Population
		holder         network.Holder
		lives, counted bool
	}{
		"finds an object by its UID":                   {everywhere, network.Holder{UID: "1"}, true, true},
		"does not find an object with another UID":     {everywhere, network.Holder{UID: "2", Namespace: "x", Name: "a"}, false, true},
		"finds an object by its name":                  {everywhere, network.Holder{Namespace: "x", Name: "a"}, true, true},
		"does not find an object of another namespace": {everywhere, network.Holder{Namespace: "y", Name: "a"}, false, true},
		"of the node":     {here, network.Holder{UID: "1", Node: "here"}, true, true},
		"of another node": {here, network.Holder{UID: "1", Node: "there"}, false, false},
		"without a node":  {here, network.Holder{UID: "2"}, false, false},
	} {
		if lives, counted := c.of.Has(c.holder); lives != c.lives || counted != c.counted {
			t.Errorf("%s: lives is %v, counted %v", name, lives, counted)
		}
	}
}
