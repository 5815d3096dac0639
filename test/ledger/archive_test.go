// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
)

var _ = Describe("the archive of a ledger on etcd", func() {
	It("moves a ledger to an empty prefix, where faults are found and fixed", func(ctx SpecContext) {
		const count = 100
		from, to := open(GinkgoTB(), members, "/from"), open(GinkgoTB(), members, "/to")
		l, err := ledger.Open(ctx, from, pool(GinkgoTB()))
		Expect(err).NotTo(HaveOccurred(), "opening the ledger")
		for i := range count {
			_, _, err := l.Reserve(ctx, ledger.Intent{
				Owner: network.Owner{Contract: "test", Key: fmt.Sprint(i)},
				Pool:  "pool", State: network.Bound, Now: time.Unix(1e9, 0),
			})
			Expect(err).NotTo(HaveOccurred(), "allocation %d", i)
		}
		var text, again bytes.Buffer
		done, err := archive.Export(ctx, from, &text, nil)
		Expect(err).NotTo(HaveOccurred(), "exporting")
		Expect(done.Allocations).To(Equal(count), "exported allocations")
		Expect(done.Even).To(BeTrue(), "the export is consistent")

		into := func() (ledger.Store, error) { return to, nil }
		_, err = archive.Import(ctx, into, bytes.NewReader(text.Bytes()))
		Expect(err).NotTo(HaveOccurred(), "importing")
		_, err = archive.Import(ctx, into, bytes.NewReader(text.Bytes()))
		Expect(err).To(MatchError(ledger.ErrNotEmpty), "importing a second time")
		_, err = archive.Export(ctx, to, &again, nil)
		Expect(err).NotTo(HaveOccurred(), "exporting the imported ledger")
		Expect(again.String()).To(Equal(text.String()), "the export of the imported ledger")

		plant := ledger.Change{Key: "mac/02:00:00:00:00:01", Value: []byte("=test/nobody")}
		Expect(to.Commit(ctx, plant)).To(Succeed(), "writing a fault")
		report, err := ledger.Verify(ctx, to, 0)
		Expect(err).NotTo(HaveOccurred(), "verifying")
		Expect(report.Faults).To(HaveLen(1), "faults")
		Expect(report.Allocations).To(Equal(count), "verified allocations")
		var found []ledger.Entry
		query := ledger.Query{Address: netip.MustParseAddr("10.0.0.5")}
		Expect(ledger.Search(ctx, to, query, func(e ledger.Entry) error {
			found = append(found, e)
			return nil
		})).To(Succeed(), "searching an address")
		Expect(found).To(HaveLen(1), "entries with the address")
	})
})
