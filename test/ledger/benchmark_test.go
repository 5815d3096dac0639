// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// BenchmarkEtcd measures, with as many callers at once on one member: transactions of etcd itself that write two rows,
// commits of the store with two rows, and allocations of an address by the ledger, which are a read and such a commit.
func BenchmarkEtcd(b *testing.B) {
	c := cluster.Start(b, 1)
	client := c.Client()
	store := open(b, c, "/benchmark")
	b.Cleanup(func() { _ = store.Close() })
	large := ledger.Pool{Name: "large"}
	var addresses netipx.IPSetBuilder
	addresses.AddPrefix(netip.MustParsePrefix("10.0.0.0/8"))
	dynamic, err := addresses.IPSet()
	if err != nil {
		b.Fatal(err)
	}
	large.Subnets = []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Dynamic: dynamic}}
	l, err := ledger.Open(b.Context(), store, large)
	if err != nil {
		b.Fatal(err)
	}
	var unique atomic.Int64
	one := []byte("=test/0123456789")
	for _, callers := range []int{1, 64, 256} {
		for _, m := range []struct {
			name string
			do   func(key string) error
		}{
			{"transaction", func(key string) error {
				_, err := client.Txn(b.Context()).If(
					clientv3.Compare(clientv3.CreateRevision("/raw/owner/"+key), "=", 0),
					clientv3.Compare(clientv3.CreateRevision("/raw/ip/"+key), "=", 0),
				).Then(clientv3.OpPut("/raw/owner/"+key, string(one)), clientv3.OpPut("/raw/ip/"+key, string(one))).Commit()
				return err
			}},
			{"commit", func(key string) error {
				return store.Commit(b.Context(),
					ledger.Change{Key: "raw/owner/" + key, Value: one}, ledger.Change{Key: "raw/ip/" + key, Value: one})
			}},
			{"allocation", func(key string) error {
				_, _, err := l.Reserve(b.Context(), ledger.Intent{
					Owner: network.Owner{Contract: "test", Key: key}, Pool: "large", State: network.Bound, Now: time.Now(),
				})
				return err
			}},
		} {
			b.Run(fmt.Sprintf("%s/callers=%d", m.name, callers), func(b *testing.B) {
				var group sync.WaitGroup
				var begun atomic.Int64
				for range callers {
					group.Go(func() {
						for begun.Add(1) <= int64(b.N) {
							if err := m.do(strconv.FormatInt(unique.Add(1), 36)); err != nil {
								b.Error(err)
							}
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per-second")
			})
		}
	}
}
