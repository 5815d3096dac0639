// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package patrol

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
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

// seed has a control plane with some ConfigMaps that miss the annotation.
type seed struct {
	mutex   sync.Mutex
	count   int
	fail    error
	touches int
}

func (s *seed) Touch(context.Context, string) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.touches++
	return nil, s.fail
}

func (s *seed) Read(_ context.Context, path string, _ url.Values) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.fail != nil:
		return nil, s.fail
	case strings.HasSuffix(path, "/namespaces"):
		return []byte(`{"items":[{"metadata":{"name":"shoot","labels":{"shoot.gardener.cloud/provider":"acme"}}}]}`), nil
	}
	var items []string
	for i := range s.count {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"cloud-%d"}}`, i))
	}
	return []byte(`{"items":[` + strings.Join(items, ",") + `]}`), nil
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
				t.Fatal("the patrol did not end its search in time")
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
	got := fmt.Sprintf("%v drifted, %v failures, at %v", value(t, p.Metrics.drifted), value(t, p.Metrics.failures), value(t, p.Metrics.last))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestPatrolCounts checks that a patrol counts at its interval, writes nothing, and reports failed searches.
func TestPatrolCounts(t *testing.T) {
	s := &seed{count: 3}
	p, clock := newPatrol(t, s)
	unready := errors.New("not registered")
	asked := make(chan error, 1)
	p.Ready = func(context.Context) error { return <-asked }
	sleeps := run(t, p, clock)
	asked <- unready
	sleeps()
	p.counted(t, "0 drifted, 0 failures, at 0")
	clock.Step(notReady)
	asked <- nil
	sleeps()
	p.counted(t, "3 drifted, 0 failures, at 1001")
	s.mutex.Lock()
	s.fail = errors.New("the API server is away")
	s.mutex.Unlock()
	clock.Step(time.Hour)
	asked <- nil
	sleeps()
	p.counted(t, "3 drifted, 1 failures, at 1001")
	if !p.NeedLeaderElection() || s.touches > 0 {
		t.Errorf("%d touches", s.touches)
	}
}
