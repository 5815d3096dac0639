// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// sweeping is a configuration with frequent sweeps; patient has a longer grace period for many concurrent operations,
// because an address may wait for its endpoint.
const (
	sweeping = "docker: {sweep: {period: 1s, grace: 2s}, kernelTimeout: 1s}\n"
	patient  = "docker: {sweep: {period: 1s, grace: 5s}, kernelTimeout: 2500ms}\n"
)

// TestServerKilledDuringRequest kills the server during a request: the client repeats it without a body.
func TestServerKilledDuringRequest(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, sweeping)
		w.network(overlay("net"))
		var err error
		for wait := 200 * time.Millisecond; err == nil && wait < patience; wait *= 2 { // until the request was sent before the server was killed
			w.signal(syscall.SIGSTOP)
			failed := make(chan error)
			go func() {
				_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one"})
				failed <- err
			}()
			time.Sleep(wait)
			w.kill()
			w.start()
			if err = <-failed; err == nil {
				w.try("deleting", w.DeleteEndpoint("net", "one"))
			}
		}
		w.refused("the endpoint", err, "body")
		made, _ := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		if made.Four == "" {
			t.Error("the endpoint has no address")
		}
		w.detach("net", "one")
		w.remove("net")
		w.clean()
	})
}

// TestRequestWaitsForServer sends a request while no server runs: the client waits for it.
func TestRequestWaitsForServer(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		w.network(overlay("net"))
		w.kill()
		made := make(chan error)
		go func() {
			_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one"})
			made <- err
		}()
		time.Sleep(100 * time.Millisecond)
		w.start()
		err := <-made
		if err != nil && strings.Contains(err.Error(), "the request has no body") {
			// The controller had not noticed yet that the server was gone, and wrote its question to the old connection: people try again.
			_, err = w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one"})
		}
		w.try("the endpoint", err)
		w.sandbox("one")
		w.join("net", "one", "one")
		w.kill()
		w.start()
		w.detach("net", "one")
		w.remove("net")
		w.clean()
	})
}

// TestServerRestartsBetweenSteps kills the server between any two steps of two containers' lives. It recovers everything
// without repeated requests.
func TestServerRestartsBetweenSteps(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		again := func() { w.kill(); w.start() }
		n := overlay("net")
		n.IPAMOptions["profile"], n.Options["profile"] = "acme.com/spare", "acme.com/spare"
		w.network(n)
		again()
		w.endpoint(engine.Endpoint{Network: "net", Name: "one"})
		again()
		one := w.sandbox("one")
		w.join("net", "one", "one")
		again()
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		before := one.one()
		one.reaches(other, other.one().Addresses[0])
		again()
		if diff := cmp.Diff(before, one.one()); diff != "" {
			t.Errorf("a restart of the server changed a container (-before +after)\n%s", diff)
		}
		one.reaches(other, other.one().Addresses[0])
		w.try("leaving", w.Leave(engine.Attachment{Network: "net", Endpoint: "one", Sandbox: "one"}))
		again()
		w.join("net", "one", "one") // once more
		one.reaches(other, other.one().Addresses[0])
		w.try("leaving", w.Leave(engine.Attachment{Network: "net", Endpoint: "one", Sandbox: "one"}))
		w.try("deleting", w.DeleteEndpoint("net", "one"))
		again()
		w.try("deleting", w.DeleteSandbox("one"))
		w.detach("net", "other")
		again()
		w.remove("net")
		again()
		w.clean()
	})
}

// TestControllerRestarts kills the controller. If it returns with its containers, it requests the same pools and
// addresses and gets them; without containers, it releases everything except the networks.
func TestControllerRestarts(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		n := overlay("net")
		n.WithSix = true
		n.Four = []engine.Pool{{Subnet: "10.64.0.0/24", Auxiliary: map[string]string{"router": "10.64.0.2"}}}
		w.network(n)
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		seen, owners := one.one(), w.owners()

		w.active = []string{one.id, other.id}
		for range 2 { // the second time, from the first one's ledger
			w.again()
			if diff := cmp.Diff(owners, w.owners()); diff != "" {
				t.Fatalf("the ledger after a new life of the controller (-before +after)\n%s", diff)
			}
			if diff := cmp.Diff(seen, one.one()); diff != "" {
				t.Errorf("the container after a new life of the controller (-before +after)\n%s", diff)
			}
			one.reaches(other, other.one().Addresses[0])
		}
		made := w.endpoint(engine.Endpoint{Network: "net", Name: "third"})
		if made.Four != "10.64.0.5/24" {
			t.Errorf("another endpoint has %s, want 10.64.0.5/24", made.Four)
		}
		w.try("deleting", w.DeleteEndpoint("net", "third"))

		// both are killed, and the containers with them
		w.kill()
		w.active = nil
		w.Process.Kill()
		w.start()
		w.engage()
		_, err := w.Endpoint("net", "one")
		w.refused("an endpoint of a container that is gone", err)
		// its address can be had by name
		_, again := w.attach(engine.Endpoint{Network: "net", Name: "again", Four: "10.64.0.3"})
		if diff := cmp.Diff([]string{"10.64.0.3/24", "fd00:64::2/64"}, again.one().Addresses); diff != "" {
			t.Errorf("another container has (-want +got)\n%s", diff)
		}
		w.ledger("verify")
		w.detach("net", "again")
		w.remove("net")
		w.clean()
	})
}

// TestRestartsWithOwnedAddresses kills both while endpoints own their addresses, which Docker does not request again.
func TestRestartsWithOwnedAddresses(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, sweeping)
		w.network(engine.Network{Name: "net", IPAM: "null", Options: map[string]string{"profile": "acme.com/overlay"}})
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "one"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "other"})
		seen, owners := one.one(), w.owners()
		w.active = []string{one.id, other.id}
		w.kill()
		w.Process.Kill()
		w.start()
		w.engage()
		time.Sleep(3500 * time.Millisecond) // more than two sweeps, and the grace
		if diff := cmp.Diff(owners, w.owners()); diff != "" {
			t.Errorf("the ledger after new lives (-before +after)\n%s", diff)
		}
		if diff := cmp.Diff(seen, one.one()); diff != "" {
			t.Errorf("the container after new lives (-before +after)\n%s", diff)
		}
		one.reaches(other, other.one().Addresses[0])
		w.ledger("verify")
		w.detach("net", "one", "other")
		w.remove("net")
		w.clean()
	})
}

// TestRequestWaitsForPausedServer suspends the server during a request: the client waits for it.
func TestRequestWaitsForPausedServer(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, "")
		w.network(overlay("net"))
		w.signal(syscall.SIGSTOP)
		made := make(chan error)
		go func() {
			_, err := w.CreateEndpoint(engine.Endpoint{Network: "net", Name: "one"})
			made <- err
		}()
		time.Sleep(time.Second)
		w.signal(syscall.SIGCONT)
		w.try("the endpoint", <-made)
		w.sandbox("one")
		w.join("net", "one", "one")
		w.try("deleting the sandbox, and the endpoint with it", w.DeleteSandbox("one"))
		w.empty()
		w.remove("net")
		w.clean()
	})
}

// TestConcurrentContainers creates 64 containers concurrently and kills the server during further ones. Nothing is left
// in the end.
func TestConcurrentContainers(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, patient)
		w.network(overlay("net"))
		took, err := w.Load(engine.Load{Network: "net", Endpoints: 64, Callers: 64, Prefix: "m"})
		w.try("64 at once", err)
		t.Logf("64 at once: %v to attach, %v to detach", took.Attach, took.Detach)
		w.empty()

		for _, links := range []int{3, 20} {
			var all sync.WaitGroup
			all.Go(func() { // those that fail leave something behind
				_, _ = w.Load(engine.Load{Network: "net", Endpoints: 32, Callers: 8, Prefix: "k"})
			})
			w.eventually("some links are there", func() bool { return len(strings.Fields(w.links(""))) > links })
			w.kill()
			w.start()
			all.Wait()
			for i := range 32 {
				name := fmt.Sprint("k", i)
				_ = w.DeleteSandbox(name)
				_ = w.DeleteEndpoint("net", name)
			}
		}
		w.eventually("nothing is held", func() bool { return len(w.owners()) == 0 })
		w.remove("net")
		w.eventually("all links are gone", func() bool { return w.links("") == w.before })
		w.clean()
	})
}

// TestControllerForgetsContainers kills the controller during many containers: it forgets containers that it had not
// stored yet. In the end nothing is left of them.
func TestControllerForgetsContainers(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, patient)
		w.network(overlay("net"))
		w.network(engine.Network{Name: "plain", Four: four})
		for _, network := range []string{"net", "plain"} {
			go func() { _, _ = w.Load(engine.Load{Network: network, Endpoints: 64, Callers: 16, Prefix: network}) }()
		}
		time.Sleep(700 * time.Millisecond)
		w.again()
		_, b := w.attach(engine.Endpoint{Network: "net", Name: "later"})
		if got := b.one().Addresses; len(got) != 1 {
			t.Errorf("a later container has %v, want one address", got)
		}
		w.eventually("all but one container is forgotten", func() bool { return len(w.owners()) == 1 && len(strings.Fields(w.links(""))) == 3 })
		w.detach("net", "later")
		w.remove("net", "plain")
		w.clean()
	})
}

// TestMachineReboots removes all links, as a boot of the machine does. Networks come back with the next container.
func TestMachineReboots(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, pooled, sweeping)
		w.network(overlay("net"))
		w.network(engine.Network{Name: "plain", Four: four})
		w.attach(engine.Endpoint{Network: "net", Name: "one"})
		w.attach(engine.Endpoint{Network: "plain", Name: "two"})
		w.kill()
		w.Process.Kill()
		w.boot()
		w.start()
		w.engage()
		_, one := w.attach(engine.Endpoint{Network: "net", Name: "three"})
		_, other := w.attach(engine.Endpoint{Network: "net", Name: "four"})
		one.reaches(other, other.one().Addresses[0])
		w.attach(engine.Endpoint{Network: "plain", Name: "five"})
		w.eventually("what was before the boot is forgotten", func() bool { return len(w.owners()) == 2 })
		w.detach("net", "three", "four")
		w.detach("plain", "five")
		w.remove("net", "plain")
		w.clean()
	})
}
