// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package docker_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// pair makes a network of the pool overlay with two containers that reach each other.
func (w *world) pair(options ...string) {
	w.Helper()
	w.overlay("shared")
	w.run("one", "shared", options...)
	w.run("two", "shared", append([]string{"--ip=10.64.0.77"}, options...)...)
	w.both("one", "two", "shared")
}

// usable checks that containers still communicate, and that new ones can start and stop.
func (w *world) usable() {
	w.Helper()
	w.both("one", "two", "shared")
	w.run("three", "shared")
	w.both("one", "three", "shared")
	w.docker("rm", "--force", "three")
}

// keep reports that both containers hold their addresses still when leaks have been given back.
func (w *world) keep() {
	w.Helper()
	time.Sleep(leaksFor)
	held := map[string]bool{}
	for _, one := range w.ledger() {
		for _, address := range one.Addresses {
			address, _, _ = strings.Cut(address, "/")
			held[address] = true
		}
	}
	for _, name := range []string{"one", "two"} {
		has := w.attached(name, "shared")
		if !held[has.IPAddress] || !held[has.GlobalIPv6Address] {
			w.Errorf("%s has %+v, and the ledger %v", name, has, held)
		}
	}
	w.both("one", "two", "shared")
}

// TestProviderKilled kills the provider while containers run, and while they are started.
func TestProviderKilled(t *testing.T) {
	w := full(t)
	w.pair()
	w.kill(w.provider)
	w.both("one", "two", "shared")
	w.start(w.provider)
	w.usable()
	w.keep()

	t.Log("a container goes while the provider is away: what it had is given back later")
	w.kill(w.provider)
	removed := make(chan error, 1)
	go func() {
		_, err := w.dockerd.Do(w.ctx, "rm", "--force", "one")
		removed <- err
	}()
	time.Sleep(500 * time.Millisecond)
	w.start(w.provider)
	if err := <-removed; err != nil {
		t.Errorf("removing a container: %v", err)
	}
	w.run("one", "shared")
	w.usable()

	seed := uint64(time.Now().UnixNano())
	t.Logf("killed in the middle of starts, seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	started := 0
	for i := range 10 {
		name := fmt.Sprintf("c%d", i)
		result := make(chan error, 1)
		go func() {
			_, err := w.dockerd.Do(w.ctx, "run", "--detach", "--stop-timeout=0", "--name="+name, "--network=shared",
				engine.Image, "/bin/sleep", "1d")
			result <- err
		}()
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		w.kill(w.provider)
		w.start(w.provider)
		if err := <-result; err != nil {
			t.Logf("%s was not started: %v", name, err)
			w.docker("start", name) // now it can be
		} else {
			started++
		}
		w.both("two", name, "shared")
		w.docker("rm", "--force", name)
	}
	t.Logf("%d of 10 started all the same", started)
	w.usable()
}

// TestDockerdKilled kills dockerd with its containers' links and starts it again: it gets the same addresses.
func TestDockerdKilled(t *testing.T) {
	w := full(t)
	w.pair("--restart=always")
	before := w.attached("two", "shared")
	w.kill(&w.dockerd.Process)
	w.start(&w.dockerd.Process)
	w.await("one", "two")
	if got := w.attached("two", "shared"); got.IPAddress != before.IPAddress || got.MacAddress != before.MacAddress {
		t.Errorf("the container's address changed: got %+v, want %+v", got, before)
	}
	w.usable()

	w.keep()

	t.Log("stopped in order")
	if err := w.dockerd.Stop(); err != nil {
		t.Fatal(err)
	}
	w.start(&w.dockerd.Process)
	w.await("one", "two")
	w.usable()

	t.Log("both killed")
	w.kill(&w.dockerd.Process)
	w.kill(w.provider)
	w.start(w.provider)
	w.start(&w.dockerd.Process)
	w.await("one", "two")
	w.usable()

	t.Log("an address that was asked for by name can be had again after a crash")
	w.docker("run", "--detach", "--stop-timeout=0", "--name=fixed", "--network=shared", "--ip=10.64.0.99", engine.Image,
		"/bin/sleep", "1d")
	w.kill(&w.dockerd.Process)
	w.start(&w.dockerd.Process)
	w.docker("rm", "--force", "fixed")
	w.run("fixed", "shared", "--ip=10.64.0.99")
	w.await("one", "two")
	w.both("one", "fixed", "shared")
}

// TestLiveRestore kills dockerd while its containers go on.
func TestLiveRestore(t *testing.T) {
	w := empty(t)
	w.start(w.provider)
	w.start(&w.dockerd.Process, "--live-restore")
	if err := w.dockerd.Import(w.ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.none)
	w.pair()
	before := w.docker("inspect", "--format={{.State.StartedAt}}", "one", "two")
	for range 2 {
		w.kill(&w.dockerd.Process)
		w.start(&w.dockerd.Process, "--live-restore")
		w.usable()
		w.keep()
	}
	w.kill(w.provider)
	w.kill(&w.dockerd.Process)
	w.start(w.provider)
	w.start(&w.dockerd.Process, "--live-restore")
	w.usable()
	w.keep()
	if after := w.docker("inspect", "--format={{.State.StartedAt}}", "one", "two"); after != before {
		t.Errorf("the containers were to go on: they started at %s, and at %s", before, after)
	}
}

// TestReboot removes all links and processes of the machine, and starts both programs in either order.
func TestReboot(t *testing.T) {
	w := full(t)
	w.pair("--restart=always")
	before := w.attached("two", "shared")
	w.reboot()
	w.start(w.provider)
	w.start(&w.dockerd.Process)
	w.await("one", "two")
	if got := w.attached("two", "shared"); got.IPAddress != before.IPAddress || got.MacAddress != before.MacAddress {
		t.Errorf("the container's address changed: got %+v, want %+v", got, before)
	}
	w.usable()

	t.Log("dockerd comes before the provider")
	w.reboot()
	if err := w.dockerd.Begin(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	w.start(w.provider)
	if err := w.dockerd.Ready(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.docker("start", "one", "two")
	w.await("one", "two")
	w.usable()

	t.Log("the provider does not come at all until later")
	w.reboot()
	w.start(&w.dockerd.Process)
	w.refused(nil, "run", "--rm", "--network=shared", engine.Image, "/bin/true")
	w.start(w.provider)
	w.docker("start", "one", "two")
	w.await("one", "two")
	w.usable()
}

func (w *world) reboot() {
	w.Helper()
	if err := w.machine.Reboot(w.ctx); err != nil {
		w.Fatal(err)
	}
}

// await waits until containers run, which dockerd starts by itself.
func (w *world) await(containers ...string) {
	w.Helper()
	var states string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		states = w.docker(append([]string{"inspect", "--format={{.State.Running}}"}, containers...)...)
		if !strings.Contains(states, "false") {
			return
		}
	}
	w.Fatalf("%v do not run: %s", containers, states)
}

// TestLedgerLost removes the ledger: existing networks report the reason and can be removed; their links are removed
// when there are new networks.
func TestLedgerLost(t *testing.T) {
	w := full(t)
	w.pair()
	w.kill(w.provider)
	if err := os.RemoveAll(w.machine.Ledger()); err != nil {
		t.Fatal(err)
	}
	w.start(w.provider)
	w.refused([]string{"unknown"}, "run", "--rm", "--network=shared", engine.Image, "/bin/true")
	w.clear() // its links stay until the server knows a network again: they may be another ledger's
	w.pair()
	w.usable()
	w.keep()
}

// TestChaos kills the provider, dockerd or both, or powers the machine off, while containers start and stop. Afterwards
// new containers can communicate, no address has two owners, and nothing is left at the end.
func TestChaos(t *testing.T) {
	w := full(t)
	w.overlay("shared")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for round := range 12 {
		var group sync.WaitGroup
		stop := make(chan struct{})
		for i := range 3 {
			group.Go(func() { w.comeAndGo(fmt.Sprintf("c%d-%d", round, i), stop) })
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		what := []string{"provider", "dockerd", "both", "power"}[round%4]
		switch what {
		case "provider":
			w.kill(w.provider)
		case "dockerd":
			w.kill(&w.dockerd.Process)
		case "both":
			w.kill(&w.dockerd.Process)
			w.kill(w.provider)
		case "power":
			w.reboot()
		}
		close(stop)
		if what != "dockerd" {
			w.start(w.provider)
		}
		if what != "provider" {
			w.start(&w.dockerd.Process)
		}
		group.Wait()
		if err := w.removeAll(); err != nil {
			t.Errorf("after %s was lost: %v", what, err)
		}
		w.run("one", "shared")
		w.run("two", "shared")
		w.both("one", "two", "shared")
		w.unique()
		w.docker("rm", "--force", "one", "two")
		if t.Failed() {
			t.Fatalf("in round %d, after %s was lost", round, what)
		}
	}
}

// removeAll removes all containers. One that dockerd is about to remove already it does not remove again, and says so.
func (w *world) removeAll() (err error) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		all := strings.Fields(w.docker("ps", "--all", "--quiet"))
		if len(all) == 0 {
			return nil
		}
		_, err = w.dockerd.Do(w.ctx, append([]string{"rm", "--force"}, all...)...)
	}
	return fmt.Errorf("containers stay: %w", err)
}

// comeAndGo starts and removes containers until it is told to stop; whether that succeeds is of no matter.
func (w *world) comeAndGo(name string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			_, _ = w.dockerd.Do(w.ctx, "run", "--detach", "--stop-timeout=0", "--name="+name, "--network=shared", engine.Image,
				"/bin/sleep", "1d")
			_, _ = w.dockerd.Do(w.ctx, "rm", "--force", name)
		}
	}
}

// unique reports that no address is held twice.
func (w *world) unique() {
	w.Helper()
	holders := map[string]string{}
	for _, one := range w.ledger() {
		for _, address := range one.Addresses {
			if other, ok := holders[address]; ok {
				w.Errorf("%s is held by %s and by %s", address, other, one.Owner.Key)
			}
			holders[address] = one.Owner.Key
		}
	}
}
