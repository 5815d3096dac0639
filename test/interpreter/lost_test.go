// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// byService registers a Service, by which Karmada speaks HTTP/1.1, so that a call has a connection of its own.
const byService = "service: {namespace: graft-system, name: interpreter}, timeoutSeconds: 5"

// askers are how many ask at the same time.
const askers = 4

// ResolveEndpoint implements webhookutil.ServiceResolver: the Service is the balancer.
func (b *balancer) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: b.Addr().String()}, nil
}

// reach is how many connections to a replica there are, and how many there have been.
func (b *balancer) reach(address string) (open, all int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.open[address], b.handed[address]
}

func (b *balancer) isReady(address string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.targets[address]
}

// load asks steadily, and goes on when a call fails.
type load struct {
	t     *testing.T
	done  [askers]atomic.Int64
	mutex sync.Mutex
	// failed is why calls have failed since somebody looked.
	failed []error
}

// newLoad begins to ask by what is registered, until the test ends.
func newLoad(t *testing.T, b *balancer) *load {
	t.Helper()
	object, err := registered()
	if err != nil {
		t.Fatal(err)
	}
	c := &configuration.Configuration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, c); err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(c), Services: b})
	if err != nil {
		t.Fatal(err)
	}
	l := &load{t: t}
	ended := make(chan struct{})
	var all sync.WaitGroup
	for n := range askers {
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					l.ask(d)
					l.done[n].Add(1)
				}
			}
		})
	}
	t.Cleanup(func() { close(ended); all.Wait() })
	return l
}

// ask asks once. An answer that is wrong is worse than none.
func (l *load) ask(d *dispatch.Dispatcher) {
	a, err := d.Interpret(l.t.Context(), question(queue, 0))
	switch {
	case err != nil && l.t.Context().Err() == nil:
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.failed = append(l.failed, err)
	case err == nil && (a.Replicas == nil || *a.Replicas != 3):
		l.t.Errorf("the answer is %+v", a)
	}
}

// more waits until each asker has had more answers, the first of which it may have waited for already.
func (l *load) more() {
	l.t.Helper()
	for n := range askers {
		before := l.done[n].Load()
		eventually(l.t, "calls go on", func() bool { return l.done[n].Load() > before+10 })
	}
}

// failures are those since the last time.
func (l *load) failures() []error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	failed := l.failed
	l.failed = nil
	return failed
}

// none holds that calls go on, and none fails.
func (l *load) none() {
	l.t.Helper()
	l.more()
	if failed := l.failures(); len(failed) > 0 {
		l.t.Errorf("%d calls failed: %v", len(failed), failed)
	}
}

// lose takes a replica away with a signal that it cannot answer, until back brings one back: no more calls fail than it has connections, with those that
// are opened until it is taken out. The client may come upon one of those at any time, as long as nobody tells it that they lead nowhere.
func (l *load) lose(r *replica, signal syscall.Signal, back func()) {
	l.t.Helper()
	l.none()
	open, before := r.b.reach(r.address)
	if err := r.Signal(signal); err != nil {
		l.t.Fatal(err)
	}
	eventually(l.t, "the replica is taken out", func() bool { return !r.b.isReady(r.address) })
	_, after := r.b.reach(r.address)
	l.more()
	back()
	l.more() // whatever was asked before has an answer
	failed := l.failures()
	if len(failed) > open+after-before {
		l.t.Errorf("%d calls failed, with %d connections and %d more: %v", len(failed), open, after-before, failed)
	}
	l.t.Logf("%s: %d calls failed, with %d connections and %d more", signal, len(failed), open, after-before)
	l.none()
}

// TestLost suspends, resumes and kills one of two replicas under steady calls: only its open calls fail.
func TestLost(t *testing.T) {
	alone(t)
	profiles := &mounted{t: t, folder: t.TempDir()}
	profiles.put(kinds("3", "Queue"))
	b := newBalancer(t)
	config := configured(t, profiles.folder, byService)
	one, two := start(t, config, b), start(t, config, b)
	both := func() { t.Helper(); eventually(t, "both are ready", func() bool { return b.count() == 2 }) }
	both()
	l := newLoad(t, b)
	for _, r := range []*replica{one, two} { // one of them writes the registration
		l.lose(r, syscall.SIGSTOP, func() {
			if err := r.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			both()
		})
	}
	l.lose(one, syscall.SIGKILL, func() { one = start(t, config, b); both() })
	l.lose(two, syscall.SIGKILL, func() {})
	one.end()
}
