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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

var _ = Describe("containers", func() {
	scenario("communicate while the network provider is killed, also in the middle of starts", func(w *world) {
		w.begin()
		w.pair()
		w.kill(w.provider)
		w.both("one", "two", "shared")
		w.start(w.provider)
		w.usable()
		w.keep()

		// a container that is removed while the provider is away: its addresses are released later
		w.kill(w.provider)
		removed := make(chan error, 1)
		go func() {
			_, err := w.dockerd.Do(w.ctx, "rm", "--force", "one")
			removed <- err
		}()
		time.Sleep(500 * time.Millisecond)
		w.start(w.provider)
		w.Expect(<-removed).To(Succeed(), "removing a container")
		w.run("one", "shared")
		w.usable()

		random := w.random()
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
				GinkgoLogr.Info("a container was not started", "name", name, "error", err.Error())
				w.docker("start", name) // now it can be
			}
			w.both("two", name, "shared")
			w.docker("rm", "--force", name)
		}
		w.usable()
	})

	scenario("have their addresses again after dockerd was killed or stopped, or both were killed", func(w *world) {
		w.begin()
		w.pair("--restart=always")
		before := w.attached("two", "shared")
		w.kill(&w.dockerd.Process)
		w.start(&w.dockerd.Process)
		w.await("one", "two")
		w.sameAddresses(before)
		w.usable()
		w.keep()

		// stopped
		w.Expect(w.dockerd.Stop()).To(Succeed(), "stopping dockerd")
		w.start(&w.dockerd.Process)
		w.await("one", "two")
		w.usable()

		// both killed
		w.kill(&w.dockerd.Process)
		w.kill(w.provider)
		w.start(w.provider)
		w.start(&w.dockerd.Process)
		w.await("one", "two")
		w.usable()

		// an address that was requested by name can be requested again after a crash
		w.run("fixed", "shared", "--ip=10.64.0.99")
		w.kill(&w.dockerd.Process)
		w.start(&w.dockerd.Process)
		w.docker("rm", "--force", "fixed")
		w.run("fixed", "shared", "--ip=10.64.0.99")
		w.await("one", "two")
		w.both("one", "fixed", "shared")
	})

	scenario("run on without a restart while a dockerd with live restore is killed", func(w *world) {
		w.begin("--live-restore")
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
		w.Expect(w.docker("inspect", "--format={{.State.StartedAt}}", "one", "two")).To(Equal(before),
			"starts of the containers")
	})

	scenario("have their addresses again after a boot, in whichever order the programs start", func(w *world) {
		w.begin()
		w.pair("--restart=always")
		before := w.attached("two", "shared")
		w.reboot()
		w.start(w.provider)
		w.start(&w.dockerd.Process)
		w.await("one", "two")
		w.sameAddresses(before)
		w.usable()

		// dockerd before the provider
		w.reboot()
		w.Expect(w.dockerd.Begin()).To(Succeed(), "starting dockerd")
		time.Sleep(2 * time.Second)
		w.start(w.provider)
		w.Expect(w.dockerd.Ready(w.ctx)).To(Succeed(), "dockerd is ready")
		w.docker("start", "one", "two")
		w.await("one", "two")
		w.usable()

		// the provider much later
		w.reboot()
		w.start(&w.dockerd.Process)
		w.refused(nil, "run", "--rm", "--network=shared", engine.Image, "/bin/true")
		w.start(w.provider)
		w.docker("start", "one", "two")
		w.await("one", "two")
		w.usable()
	})

	// Links of lost networks stay until the server knows a network again: they may be those of another ledger.
	scenario("are refused with the reason after a loss of the ledger, until their network is made again", func(w *world) {
		w.begin()
		w.pair()
		w.kill(w.provider)
		w.Expect(os.RemoveAll(w.machine.Ledger())).To(Succeed())
		w.start(w.provider)
		w.refused([]string{"unknown"}, "run", "--rm", "--network=shared", engine.Image, "/bin/true")
		w.clear()
		w.pair()
		w.usable()
		w.keep()
	})

	scenario("never share an address, and can be started, whichever program is lost while others start and stop", func(
		w *world,
	) {
		w.begin()
		w.overlay("shared")
		random := w.random()
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
			w.removeAll(what)
			w.run("one", "shared")
			w.run("two", "shared")
			w.both("one", "two", "shared")
			w.unique()
			w.docker("rm", "--force", "one", "two")
		}
	})
})

// random returns a random generator, and logs its seed.
func (w *world) random() *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	GinkgoLogr.Info("random numbers", "seed", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// pair makes a network of the pool overlay with two containers that reach each other.
func (w *world) pair(options ...string) {
	w.overlay("shared")
	w.run("one", "shared", options...)
	w.run("two", "shared", append([]string{"--ip=10.64.0.77"}, options...)...)
	w.both("one", "two", "shared")
}

// usable expects that containers still communicate, and that new ones can start and stop.
func (w *world) usable() {
	w.both("one", "two", "shared")
	w.run("three", "shared")
	w.both("one", "three", "shared")
	w.docker("rm", "--force", "three")
}

// keep expects that both containers hold their addresses when leaks have been released.
func (w *world) keep() {
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
		w.Expect(held).To(And(HaveKey(has.IPAddress), HaveKey(has.GlobalIPv6Address)), "the addresses of %s", name)
	}
	w.both("one", "two", "shared")
}

// sameAddresses expects that the container two has the addresses that it had before.
func (w *world) sameAddresses(before attached) {
	got := w.attached("two", "shared")
	w.Expect([]string{got.IPAddress, got.MacAddress}).To(Equal([]string{before.IPAddress, before.MacAddress}),
		"addresses of the container")
}

func (w *world) reboot() {
	w.Expect(w.machine.Reboot(w.ctx)).To(Succeed(), "booting the machine again")
}

// await waits until containers run, which dockerd starts by itself.
func (w *world) await(containers ...string) {
	w.Eventually(func() string {
		return w.docker(append([]string{"inspect", "--format={{.State.Running}}"}, containers...)...)
	}).ShouldNot(ContainSubstring("false"), "%v run", containers)
}

// removeAll removes all containers. One that dockerd is about to remove already it does not remove again, and says so.
func (w *world) removeAll(lost string) {
	var err error
	w.Eventually(func() []string {
		all := strings.Fields(w.docker("ps", "--all", "--quiet"))
		if len(all) > 0 {
			_, err = w.dockerd.Do(w.ctx, append([]string{"rm", "--force"}, all...)...)
		}
		return all
	}).Should(BeEmpty(), func() string { return fmt.Sprintf("containers after the loss of %s: %v", lost, err) })
}

// comeAndGo starts and removes containers until it is told to stop; whether that succeeds does not matter.
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

// unique expects that no address is held twice.
func (w *world) unique() {
	holders := map[string]string{}
	for _, one := range w.ledger() {
		for _, address := range one.Addresses {
			w.Expect(holders).NotTo(HaveKey(address), "holders of addresses without %s", one.Owner.Key)
			holders[address] = one.Owner.Key
		}
	}
}
