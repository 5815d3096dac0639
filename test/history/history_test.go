// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// checking bounds how long Porcupine looks at one history. It takes seconds.
const checking = 10 * time.Minute

// lease is longer than the lease of a server on etcd.
const lease = 35 * time.Second

// TestFile records histories of one program with a ledger on a file. The program is killed, and stopped for longer than a call of the cloud can take
// effect.
func TestFile(t *testing.T) {
	for seed, kills := range histories(t, "GRAFT_HISTORY_FILE", 30, 10, 25) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			w.storeIn("ledger: {path: %[1]s/ledger}", 1)
			w.run(6, func(random *rand.Rand) {
				for range kills {
					pause(random, 100, 900)
					if random.IntN(3) == 0 {
						w.servers[0].Signal(syscall.SIGSTOP)
						pause(random, 0, 5000)
						w.servers[0].Signal(syscall.SIGCONT)
						pause(random, 100, 900)
					}
					w.restart(0)
				}
			})
			if len(w.cloud.wrong()) > 0 {
				t.Errorf("the cloud was asked for addresses that it had bound: %v", w.cloud.wrong())
			}
		})
	}
}

// TestEtcd records histories of three programs that share a ledger on three members of etcd. Programs are killed, and one is stopped until its lease
// has ended; the member that leads is killed and stopped.
func TestEtcd(t *testing.T) {
	if os.Getenv("GRAFT_HISTORY_ETCD") == "" {
		t.Skip("make test-system runs it: GRAFT_HISTORY_ETCD is the number of kills")
	}
	for seed, kills := range histories(t, "GRAFT_HISTORY_ETCD", 0, 20, 20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := cluster.Start(t, 3)
			w := newWorld(t, seed)
			w.storeIn(fmt.Sprintf("ledger: {etcd: {endpoints: ['%s', '%s', '%s'], prefix: /history, caFile: %s, certFile: %s, keyFile: %s}}",
				c.Endpoints[0], c.Endpoints[1], c.Endpoints[2], c.CAFile, c.CertFile, c.KeyFile), 3)
			w.run(8, func(random *rand.Rand) { w.disturbAll(c, random, kills) })
			t.Logf("binds that the cloud refused since another owner had the address: %d", len(w.cloud.wrong()))
		})
	}
}

// histories returns seeds, and how often programs are killed in the history of each: all together as often as a variable of the environment says,
// and then as often in each as the last argument says.
func histories(t *testing.T, variable string, all, each, eachThen int) map[uint64]int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		var err error
		each = eachThen
		if all, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	of := map[uint64]int{}
	for seed := uint64(1); all > 0; seed++ {
		of[seed] = min(all, each)
		all -= each
	}
	return of
}

// pause waits for a random time, in milliseconds.
func pause(random *rand.Rand, least, most int) {
	time.Sleep(time.Duration(least+random.IntN(most-least)) * time.Millisecond)
}

// restart kills a program and starts it again.
func (w *world) restart(server int) {
	p := w.servers[server]
	p.Kill()
	p.WaitExit()
	p.Start()
	p.Ready()
}

// disturbAll kills the first two programs in turn, while the third is stopped, and so is the leader of etcd, which is also killed.
func (w *world) disturbAll(c *cluster.Cluster, random *rand.Rand, kills int) {
	var others sync.WaitGroup
	others.Go(func() {
		w.servers[2].Signal(syscall.SIGSTOP)
		time.Sleep(lease)
		w.servers[2].Signal(syscall.SIGCONT)
	})
	for i := range kills {
		pause(random, 500, 2500)
		switch i {
		case kills / 4:
			leader := c.Leader()
			c.Kill(leader)
			pause(random, 0, 2000)
			c.Restart(leader)
		case kills / 2:
			leader := c.Leader()
			c.Pause(leader)
			pause(random, 2000, 8000)
			c.Resume(leader)
		}
		w.restart(i % 2)
	}
	others.Wait()
}

// run lets clients work until all faults are over, and checks the history and what is left.
func (w *world) run(clients int, faults func(*rand.Rand)) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range clients {
		claims, takes := rand.New(rand.NewPCG(w.seed, uint64(i))), rand.New(rand.NewPCG(w.seed, uint64(50+i)))
		all.Go(func() { w.claims(ctx, i, claims) })
		all.Go(func() { w.takes(ctx, i, takes) })
	}
	faults(rand.New(rand.NewPCG(w.seed, 99)))
	cancel()
	began := time.Now()
	all.Wait()
	w.t.Logf("the clients have ended after %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	w.end()
	settled := time.Since(began)
	began = time.Now()
	if result, _ := porcupine.CheckOperationsVerbose(model(), w.record, checking); result != porcupine.Ok {
		w.t.Errorf("the history of %d operations is %s; the programs said\n%s", len(w.record), result, w.logs())
	}
	w.t.Logf("%d operations; settled after %s, checked after %s", len(w.record), settled.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}
