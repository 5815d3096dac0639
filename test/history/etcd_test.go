//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/test/history/checker"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// lease is longer than the lease of a server on etcd.
const lease = 35 * time.Second

// Programs are killed, and one is stopped until its lease has ended. The member that leads is killed and stopped.
var _ = Describe("the history of three programs with a ledger on three members of etcd", func() {
	for i, kills := range histories("GRAFT_HISTORY_ETCD", 20, 20, 20) {
		It(fmt.Sprintf("is linearizable with the kills and faults of seed %d", i+1), func(ctx SpecContext) {
			c := cluster.Start(GinkgoTB(), 3)
			cloud := newFabric(uint64(i + 1))
			w := cloud.world(fmt.Sprintf(`ledger:
  etcd: {endpoints: ['%s'], prefix: /history, caFile: %s, certFile: %s, keyFile: %s}`,
				strings.Join(c.Endpoints, "', '"), c.CAFile, c.CertFile, c.KeyFile), 3)
			w.Run(ctx, 8, func(random *rand.Rand) { disturbAll(w, c, random, kills) })
			AddReportEntry("binds that the cloud refused, since another owner had the address", len(cloud.wrong()))
		})
	}
})

// disturbAll kills the first two programs in turn, while the third one and the leader of etcd are stopped. The leader
// is also killed.
func disturbAll(w *checker.World, c *cluster.Cluster, random *rand.Rand, kills int) {
	var others sync.WaitGroup
	others.Go(func() {
		defer GinkgoRecover()
		w.Servers[2].Signal(syscall.SIGSTOP)
		time.Sleep(lease)
		w.Servers[2].Signal(syscall.SIGCONT)
	})
	for i := range kills {
		checker.Pause(random, 500, 2500)
		switch i {
		case kills / 4:
			leader := c.Leader()
			c.Kill(leader)
			checker.Pause(random, 0, 2000)
			c.Restart(leader)
		case kills / 2:
			leader := c.Leader()
			c.Pause(leader)
			checker.Pause(random, 2000, 8000)
			c.Resume(leader)
		}
		w.Restart(i % 2)
	}
	others.Wait()
}
