// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package patrol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const rules = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: acme}
providers: [acme]
controlplane: {objects: [{apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [{name: tier, annotations: {set: {tier: silver}}}]}]}
`

type engine struct{ *mutation.Program }

func (e engine) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return e.Program.Admit(ctx, r, &facts.Static{})
}

// seed has a control plane with some ConfigMaps; touched ones conform.
type seed struct {
	mutex   sync.Mutex
	count   int
	touched map[string]bool
	fail    error
	// deaf are the names of objects that a touch does not change; all means every object.
	deaf map[string]bool
	all  bool
	// patches are the names that were touched, in order.
	patches []string
}

func (s *seed) item(name string) string {
	tier := ""
	if s.touched[name] {
		tier = `"tier":"silver"`
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{%s}}}`, name, tier)
}

func (s *seed) Call(_ context.Context, c drift.Call) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.fail != nil:
		return nil, s.fail
	case c.Touches():
		name := c.Path()[strings.LastIndex(c.Path(), "/")+1:]
		s.patches = append(s.patches, name)
		if !s.all && !s.deaf[name] {
			s.touched[name] = true
		}
		return []byte(s.item(name)), nil
	case strings.HasSuffix(c.Path(), "/namespaces"):
		return []byte(`{"items":[{"metadata":{"name":"shoot","labels":{"shoot.gardener.cloud/provider":"acme"}}}]}`), nil
	}
	var items []string
	for i := range s.count {
		items = append(items, s.item(fmt.Sprint("cloud-", i)))
	}
	return []byte(`{"items":[` + strings.Join(items, ",") + `]}`), nil
}

func (s *seed) touches() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.touched)
}

// newPatrol returns a patrol of a seed, with a stopped clock.
func newPatrol(t *testing.T, s *seed) (*Patrol, *clocktesting.FakeClock) {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "acme.yaml", Data: []byte(rules)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Mark: true})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	return &Patrol{
		Finder: drift.Finder{API: s, Engine: engine{program}}, Interval: time.Hour, Clock: clock,
		Metrics: NewMetrics(prometheus.NewRegistry()), Log: logr.Discard(),
	}, clock
}

// run starts the patrol, and returns a function that waits until it sleeps.
func run(t *testing.T, p *Patrol, clock *clocktesting.FakeClock) (sleeps func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func() {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !clock.HasWaiters(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the patrol did not stop touching objects in time")
			}
		}
	}
}

// value returns the value of a metric, or the sum of its series.
func value(t *testing.T, metric prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metric)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}

func (p *Patrol) counted(t *testing.T, want string) {
	t.Helper()
	got := fmt.Sprintf("%v drifted, %v touched, %v fixed, %v failures, at %v", value(t, p.Metrics.drifted), value(t, p.Metrics.touched),
		value(t, p.Metrics.touched.WithLabelValues("fixed")), value(t, p.Metrics.failures), value(t, p.Metrics.last))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestPatrolCountsWithoutTouches checks that a patrol counts at its interval without touches, and reports failed
// searches.
func TestPatrolCountsWithoutTouches(t *testing.T) {
	s := &seed{count: 3, touched: map[string]bool{}}
	p, clock := newPatrol(t, s)
	unready := errors.New("not registered")
	asked := make(chan error, 1)
	p.Ready = func(context.Context) error { return <-asked }
	sleeps := run(t, p, clock)
	asked <- unready
	sleeps()
	p.counted(t, "0 drifted, 0 touched, 0 fixed, 0 failures, at 0")
	clock.Step(notReady)
	asked <- nil
	sleeps()
	p.counted(t, "3 drifted, 0 touched, 0 fixed, 0 failures, at 1001")
	s.mutex.Lock()
	s.fail = errors.New("the API server is away")
	s.mutex.Unlock()
	clock.Step(time.Hour)
	asked <- nil
	sleeps()
	p.counted(t, "3 drifted, 0 touched, 0 fixed, 1 failures, at 1001")
	if !p.NeedLeaderElection() || s.touches() > 0 {
		t.Errorf("%d touches", s.touches())
	}
}

// TestPatrolTouches checks that drifted objects are touched, and are not found again.
func TestPatrolTouches(t *testing.T) {
	s := &seed{count: 4, touched: map[string]bool{}}
	p, clock := newPatrol(t, s)
	p.Toucher = &drift.Toucher{API: s, Engine: p.Finder.Engine, Limiter: rate.NewLimiter(rate.Inf, 0)}
	sleeps := run(t, p, clock)
	sleeps()
	if got := s.touches(); got != s.count {
		t.Fatalf("%d touches of %d objects", got, s.count)
	}
	clock.Step(time.Hour)
	sleeps()
	p.counted(t, "0 drifted, 4 touched, 4 fixed, 0 failures, at 4600")
}

// TestTouchingStopsAfterThreeWithoutEffect checks that touching stops until the next search after three touches in a
// row without effect.
func TestTouchingStopsAfterThreeWithoutEffect(t *testing.T) {
	s := &seed{count: 5, touched: map[string]bool{}, all: true}
	p, clock := newPatrol(t, s)
	p.Toucher = &drift.Toucher{API: s, Engine: p.Finder.Engine, Limiter: rate.NewLimiter(rate.Inf, 0)}
	sleeps := run(t, p, clock)
	sleeps()
	p.counted(t, "5 drifted, 3 touched, 0 fixed, 0 failures, at 1000")
	if got := value(t, p.Metrics.givenUp); got != 1 {
		t.Errorf("the patrol gave up %v times, want once", got)
	}
	s.mutex.Lock()
	s.all = false
	s.mutex.Unlock()
	clock.Step(time.Hour)
	sleeps()
	p.counted(t, "5 drifted, 5 touched, 2 fixed, 0 failures, at 4600")
	clock.Step(time.Hour)
	sleeps()
	p.counted(t, "3 drifted, 8 touched, 5 fixed, 0 failures, at 8200")
	if got := value(t, p.Metrics.givenUp); got != 1 {
		t.Errorf("the patrol gave up %v times although the objects were fixed, want once", got)
	}
}

// TestObjectWithoutEffectPausesLonger checks that an object without effect pauses longer each time, that later objects
// get their turn, and that a conforming object or new profiles reset the pause.
func TestObjectWithoutEffectPausesLonger(t *testing.T) {
	s := &seed{count: 4, touched: map[string]bool{}, deaf: map[string]bool{"cloud-0": true, "cloud-1": true, "cloud-2": true}}
	p, clock := newPatrol(t, s)
	p.Toucher = &drift.Toucher{API: s, Engine: p.Finder.Engine, Limiter: rate.NewLimiter(rate.Inf, 0)}
	sleeps := run(t, p, clock)
	search := func() string {
		sleeps()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		names := strings.Join(s.patches, " ")
		s.patches = nil
		return fmt.Sprintf("%s; %v cooling down", names, value(t, p.Metrics.coolingDown))
	}
	const three = "cloud-0 cloud-1 cloud-2; "
	for i, step := range []struct {
		want string
		then func()
	}{
		{want: three + "3 cooling down"},
		{want: "cloud-3; 0 cooling down"},
		{want: three + "3 cooling down"},
		{want: "; 3 cooling down"},
		{want: "; 3 cooling down", then: func() { s.touched["cloud-0"] = true }}, // another client has fixed it
		{want: "; 0 cooling down", then: func() { delete(s.touched, "cloud-0") }},
		{want: three + "3 cooling down"},
		{want: "; 2 cooling down", then: func() { p.Finder.Engine = renamed{p.Finder.Engine} }},
		{want: three + "3 cooling down"},
	} {
		if diff := cmp.Diff(step.want, search()); diff != "" {
			t.Fatalf("touches of search %d (-want +got):\n%s", i, diff)
		}
		if step.then != nil {
			s.mutex.Lock()
			step.then()
			s.mutex.Unlock()
		}
		clock.Step(time.Hour)
	}
	f := &cooldowns{objects: map[drift.Object]cooldown{}}
	for range 2 * longestCooldown {
		f.record(drift.Object{}, drift.Failed)
	}
	if got := f.objects[drift.Object{}]; got.of != longestCooldown {
		t.Errorf("the object is skipped for %d searches, want the longest pause", got.of)
	}
}

// renamed is an engine with profiles of other versions.
type renamed struct{ drift.Engine }

func (renamed) Profiles() []mutation.ProfileVersion {
	return []mutation.ProfileVersion{{Name: "acme", Hash: strings.Repeat("0", 64)}}
}
