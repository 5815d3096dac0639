// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ledger runs the ledger on a real etcd of three members, with certificates on all connections, while members
// are killed and paused.
package ledger

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/ledgertest"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

func TestLedger(t *testing.T) { suite.Run(t, "ledger", "network") }

// members is the etcd of all specs that neither kill members nor need flags of their own. Each has its own prefix.
var members *cluster.Cluster

var _ = BeforeSuite(func() { members = start(GinkgoTB()) })

// start starts three members that nothing kills. Long intervals avoid elections on a busy machine.
func start(t testing.TB) *cluster.Cluster {
	t.Helper()
	return cluster.Start(t, 3, "--heartbeat-interval=300", "--election-timeout=3000", "--unsafe-no-fsync")
}

// TestSuite runs the cases that every store must pass, each below its own prefix. They are tests without Ginkgo, which
// the stores share.
func TestSuite(t *testing.T) {
	c := start(t)
	var places atomic.Int32
	ledgertest.RunShared(t, func(*testing.T) ledgertest.Open {
		prefix := fmt.Sprintf("/suite/%d", places.Add(1))
		return func(t *testing.T) ledger.Store { return open(t, c, prefix) }
	})
}

// open opens a store on a cluster, with a timeout for a busy machine.
func open(t testing.TB, c *cluster.Cluster, prefix string) *etcd.Store {
	t.Helper()
	return openFor(t, c, prefix, 20*time.Second)
}

func openFor(t testing.TB, c *cluster.Cluster, prefix string, timeout time.Duration) *etcd.Store {
	t.Helper()
	store, err := etcd.Open(t.Context(), etcd.Options{
		Endpoints: c.Endpoints, TLS: c.TLS, Prefix: prefix, Timeout: timeout, DialTimeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}
