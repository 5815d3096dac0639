//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// lease is longer than the lease of a server on etcd.
const lease = 35 * time.Second

// TestEtcd records histories of three programs that share a ledger on three members of etcd. Programs are killed, and one is stopped until its lease
// has ended; the member that leads is killed and stopped.
func TestEtcd(t *testing.T) {
	for seed, kills := range histories(t, "GRAFT_HISTORY_ETCD", 20, 20, 20) {
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
