// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
)

// story is a sequence of Docker's calls.
type story []func(w *world) error

// tell continues a scenario until a step is stopped, and returns the number of completed steps.
func (s story) tell(w *world, from int) int {
	for i := from; i < len(s); i++ {
		if err := s[i](w); err != nil {
			if !w.crash.stopped {
				w.t.Fatalf("call %d: %v", i, err)
			}
			return i
		}
	}
	return len(s)
}

// made are the endpoints as they were answered, which must be the same each time.
type made map[string]driver.Endpoint

func (m made) create(e driver.Endpoint) func(w *world) error {
	return func(w *world) error {
		got, err := w.CreateEndpoint(w.t.Context(), e)
		if err != nil {
			return err
		}
		if before, ok := m[e.ID]; ok {
			if diff := cmp.Diff(before, got, alike); diff != "" {
				w.t.Errorf("endpoint %s differs after the repeated request:\n%s", e.ID, diff)
			}
		}
		m[e.ID] = got
		return nil
	}
}

func net(n driver.Network) func(w *world) error {
	return func(w *world) error { return w.CreateNetwork(w.t.Context(), n) }
}

func join(of, id string) func(w *world) error {
	return func(w *world) error {
		_, _, err := w.Join(w.t.Context(), of, id, "/"+id)
		if err == nil {
			w.kernel.move(id, true)
		}
		return err
	}
}

func leave(of, id string) func(w *world) error {
	return func(w *world) error {
		err := w.Leave(w.t.Context(), of, id)
		if err == nil {
			w.kernel.move(id, false)
		}
		return err
	}
}

func remove(of, id string) func(w *world) error {
	return func(w *world) error { return w.DeleteEndpoint(w.t.Context(), of, id) }
}

func dissolve(id string) func(w *world) error {
	return func(w *world) error { return w.DeleteNetwork(w.t.Context(), id) }
}

func discovered(address string, gone bool) func(w *world) error {
	return func(w *world) error { return w.Discovered(w.t.Context(), netip.MustParseAddr(address), false, gone) }
}

// stories are those that are stopped at each step.
func stories(m made) map[string]story {
	return map[string]story{
		"on a bridge": {
			net(plain("net", "172.30.0.0/24", "172.30.0.1")), m.create(endpoint("net", "one", "172.30.0.2/24")), join("net", "one"),
			m.create(endpoint("net", "two", "172.30.0.3/24")), join("net", "two"), leave("net", "one"), remove("net", "one"),
			m.create(endpoint("net", "three", "172.30.0.2/24")), join("net", "three"), leave("net", "two"), remove("net", "two"),
			leave("net", "three"), remove("net", "three"), dissolve("net"),
		},
		"on a tunnel with a peer": {
			net(bare("net", "profile=acme.com/tunnel")), discovered("192.0.2.2", false), m.create(endpoint("net", "one")), join("net", "one"),
			discovered("192.0.2.2", true), leave("net", "one"), remove("net", "one"), dissolve("net"),
		},
		"deleting a network with an endpoint": {net(bare("net", "profile=acme.com/plain")), m.create(endpoint("net", "one")), dissolve("net")},
	}
}

// each stops each story at each step, before and after it is done.
func each(t *testing.T, then func(t *testing.T, w *world, s story, at int)) {
	for name := range stories(made{}) {
		for _, after := range []bool{false, true} {
			for at, over := 1, false; !over; at++ {
				t.Run(fmt.Sprintf("%s/%d/%v", name, at, after), func(t *testing.T) {
					w := newWorld(t)
					s := stories(made{})[name]
					w.crash.steps, w.crash.at, w.crash.after = 0, at, after
					came := s.tell(w, 0)
					if over = !w.crash.stopped; over {
						w.empty()
						return
					}
					w.restart()
					then(t, w, s, came)
				})
			}
		}
	}
}

// TestFailAndRepeat checks that a call that failed at any step succeeds when repeated, without a restart and without
// knowing whether the step was done.
func TestFailAndRepeat(t *testing.T) {
	for name := range stories(made{}) {
		for _, after := range []bool{false, true} {
			for at, over := 1, false; !over; at++ {
				t.Run(fmt.Sprintf("%s/%d/%v", name, at, after), func(t *testing.T) {
					w := newWorld(t)
					s := stories(made{})[name]
					w.crash.steps, w.crash.at, w.crash.after, w.crash.once = 0, at, after, true
					came := s.tell(w, 0)
					if over = !w.crash.stopped; over {
						return
					}
					if came = s.tell(w, came); came != len(s) {
						t.Fatalf("the scenario stopped at step %d", came)
					}
					w.must(w.Reconcile(t.Context()))
					w.empty()
				})
			}
		}
	}
}

// empty is that nothing is left of anything.
func (w *world) empty() {
	w.t.Helper()
	w.same("rows", nil, w.rows())
	w.same("links", nil, w.kernel.has())
}

// TestCrashAndRepeat checks that a call that crashed at any step succeeds when repeated, with the same result.
func TestCrashAndRepeat(t *testing.T) {
	each(t, func(t *testing.T, w *world, s story, at int) {
		if came := s.tell(w, at); came != len(s) {
			t.Fatalf("the scenario stopped at step %d", came)
		}
		w.empty()
	})
}

// TestCrashAndForget checks that the leftovers of a crashed call are removed without a repetition, except for networks.
func TestCrashAndForget(t *testing.T) {
	each(t, func(_ *testing.T, w *world, _ story, _ int) {
		for id := range w.kernel.ports {
			w.kernel.move(id, false)
		}
		w.must(w.Reconcile(w.t.Context()))
		w.clock.Step(time.Hour)
		w.must(w.Reconcile(w.t.Context()))
		for _, row := range w.rows() {
			if row != "network/net" && row != "node/192.0.2.2" {
				w.t.Errorf("the row %s still exists", row)
			}
		}
		w.must(w.DeleteNetwork(w.t.Context(), "net"))
		w.same("links", nil, w.kernel.has())
	})
}

// TestCrashAndReboot checks that a reboot of the machine removes all endpoints and restores networks.
func TestCrashAndReboot(t *testing.T) {
	each(t, func(_ *testing.T, w *world, _ story, _ int) {
		w.reboot()
		var want []string
		if _, err := w.Network(w.t.Context(), "net"); err == nil {
			want = []string{"net"}
		} else if !errors.Is(err, driver.ErrUnknownNetwork) {
			w.t.Fatal(err)
		}
		w.same("links", want, w.kernel.has())
		if want != nil {
			w.attach(driver.Endpoint{Network: "net", ID: "new"})
			w.must(w.DeleteNetwork(w.t.Context(), "net"))
		}
		w.same("links", nil, w.kernel.has())
	})
}
