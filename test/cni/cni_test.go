// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

var asText = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

func TestCNI(t *testing.T) { suite.Run(t, "cni", "network") }

// TestSuite runs the test suite of all clouds: with addresses that host-local chooses, and with requested addresses.
// The suite does not use Ginkgo.
func TestSuite(t *testing.T) {
	open := func(t *testing.T) cloud.Cloud {
		h := newHost(t, "10.0.0.0/24", "10.0.0.2", "10.0.0.200")
		t.Cleanup(func() {
			if kept := h.kept(); len(kept) > 0 {
				t.Errorf("host-local still keeps %v", kept)
			}
		})
		return cni.New("lan", h.options)
	}
	t.Run("the cloud chooses addresses", func(t *testing.T) { cloudtest.RunChoosing(t, open) })
	t.Run("Graft chooses addresses", func(t *testing.T) { cloudtest.Run(t, open) })
}

var _ = Describe("addresses from a CNI plugin", func() {
	var (
		h *host
		s *server
	)

	// serve starts a server on a host whose range has the addresses from first to last.
	serve := func(first, last string) {
		GinkgoHelper()
		h = newHost(GinkgoTB(), "192.168.100.0/24", first, last)
		s = h.serve(GinkgoT().TempDir())
		s.run()
	}

	It("are different for two claims with devices of the same name, and a release frees one of them", func() {
		serve("192.168.100.1", "192.168.100.9")
		first, second := s.allocate(1), s.allocate(2)
		gateway := netip.MustParseAddr("192.168.100.1")
		Expect(first.Binding).To(BeComparableTo(network.Binding{
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.100.2/24")},
			Routes:    []network.Route{{Destination: netip.MustParsePrefix("10.96.0.0/12"), Gateway: gateway}},
		}, asText, cmpopts.IgnoreFields(network.Binding{}, "Reference")), "the binding of the first claim")
		Expect(second.Addresses[0]).NotTo(Equal(first.Addresses[0]), "the address of the second claim")
		Expect(s.allocate(1)).To(BeComparableTo(first, asText), "the allocation of the first claim, asked again")
		s.release(1)
		Eventually(h.kept).Should(Equal([]string{second.Addresses[0].String()}), "addresses that host-local keeps")
	})

	It("are refused with the plugin's message when its range is exhausted", func(ctx SpecContext) {
		serve("192.168.100.10", "192.168.100.12")
		for claim := range 3 {
			s.allocate(claim)
		}
		_, err := s.Allocate(ctx, request(3))
		Expect(err).To(MatchError(network.ErrExhausted), "the fourth allocation of three addresses")
		Expect(err).To(MatchError(ContainSubstring("no IP addresses available in range set")))

		elsewhere := request(3)
		elsewhere.Pool = "next"
		a, err := s.Allocate(ctx, elsewhere)
		Expect(err).NotTo(HaveOccurred(), "an allocation from the next pool")
		Expect(a.Addresses[0]).To(Equal(netip.MustParseAddr("10.1.0.2")), "the address from the next pool")
		s.release(3)
		Eventually(s.holds).WithArguments(3).Should(BeFalse(), "claim 3 holds the address of the next pool")
		s.release(1)
		Eventually(s.holds).WithArguments(1).Should(BeFalse(), "claim 1 holds its address")
		s.allocate(3)
		Expect(h.kept()).To(HaveLen(3), "addresses that host-local keeps for three owners")
	})

	DescribeTable("are neither lost nor given twice after a crash before an answer is stored",
		func(ctx SpecContext, again bool) {
			h, folder := newHost(GinkgoTB(), "192.168.100.0/24", "192.168.100.10", "192.168.100.12"), GinkgoT().TempDir()
			dying := h.serve(folder)
			_, err := dying.cloud.Bind(ctx, dying.intend(1))
			Expect(err).NotTo(HaveOccurred(), "calling the plugin")
			dying.close()

			s := h.serve(folder)
			s.run()
			Eventually(h.kept).Should(BeEmpty(), "addresses that host-local keeps for an owner without an allocation")
			if again {
				s.allocate(1)
				Expect(h.kept()).To(HaveLen(1), "addresses that host-local keeps for one owner")
			}
			Expect(s.reports).To(BeEmpty(), "problems that the server reports")
		},
		Entry("when nobody asks again", false),
		Entry("when the owner asks again", true),
	)

	It("are the same when the answer of the plugin was lost", func(ctx SpecContext) {
		serve("192.168.100.10", "192.168.100.12")
		_, err := cni.New("lan", h.options).Bind(ctx, s.intend(1))
		Expect(err).NotTo(HaveOccurred(), "calling the plugin")
		a := s.allocate(1)
		Expect(h.kept()).To(Equal([]string{a.Addresses[0].String()}), "addresses that host-local keeps")
	})

	It("stay with their owners when the plugin has lost its state and returns a held address", func(ctx SpecContext) {
		serve("192.168.100.10", "192.168.100.12")
		first := s.allocate(1)
		Expect(os.RemoveAll(filepath.Join(h.data, "lan"))).To(Succeed())
		_, err := s.Allocate(ctx, request(2))
		Expect(err).To(MatchError(network.ErrTaken), "the allocation of a held address")
		Eventually(h.kept).Should(BeEmpty(), "addresses that host-local keeps after the refusal")
		second := s.allocate(2)
		Expect(second.Addresses[0]).NotTo(Equal(first.Addresses[0]), "the address of the second claim")
		held, err := s.Get(ctx, first.Owner)
		Expect(err).NotTo(HaveOccurred(), "reading the allocation of the first claim")
		Expect(held).To(BeComparableTo(first, asText), "the allocation of the first claim")
	})

	It("are different for 50 owners that ask at the same time, and all of them can be given again", func(ctx SpecContext) {
		const many = 50
		serve("192.168.100.10", "192.168.100.59")
		for range 2 {
			var group sync.WaitGroup
			for claim := range many {
				group.Go(func() {
					defer GinkgoRecover()
					s.allocate(claim)
				})
			}
			group.Wait()
			Expect(h.kept()).To(HaveLen(many), "addresses that host-local keeps")
			for claim := range many {
				s.release(claim)
			}
			Eventually(h.kept).Should(BeEmpty(), "addresses that host-local keeps after the releases")
			Eventually(ctx, func(g Gomega) {
				var held []string
				g.Expect(s.ledger.All(ctx, func(a network.Allocation) error {
					held = append(held, a.Owner.Key)
					return nil
				})).To(Succeed())
				g.Expect(held).To(BeEmpty())
			}).Should(Succeed(), "waiting until the ledger is empty")
		}
	})
})
