// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

// openWarm returns a cloud that keeps at most four warm ports.
func openWarm(idle time.Duration) *openstack.Cloud {
	GinkgoHelper()
	d := definition(func(d *openstack.Definition) { d.Trunk.Warm = 4 })
	made, err := openstack.New(d, openstack.Options{Clock: clock.RealClock{}, Timeout: time.Minute, Idle: idle})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// warmPorts returns the IDs of the attached warm ports.
func warmPorts(ctx SpecContext) (ids []string) {
	GinkgoHelper()
	attached := vlans(ctx, fixture.trunk)
	for _, p := range graftPorts(ctx) {
		if strings.HasPrefix(p.Description, namePrefix+" warm/") && attached[p.ID] != 0 {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// untilWarm waits until there are so many warm ports, and returns their IDs.
func untilWarm(ctx SpecContext, count int) []string {
	GinkgoHelper()
	Eventually(warmPorts).WithContext(ctx).WithTimeout(patience).WithPolling(300 * time.Millisecond).Should(HaveLen(count))
	return warmPorts(ctx)
}

var _ = Describe("warm ports", func() {
	It("are taken with their VLAN, and deleted when they are idle", func(ctx SpecContext) {
		c := openWarm(time.Hour)
		first := bind(ctx, c, allocation(fixture.mac, 90))
		ids, attached := untilWarm(ctx, 1), vlans(ctx, fixture.trunk)

		second := bind(ctx, c, allocation(fixture.mac, 91))
		id := portOf(second)
		Expect(ids).To(ConsistOf(id))
		Expect(second.VLANID()).To(BeEquivalentTo(attached[id]))
		port, err := ports.Get(ctx, fixture.owner, id).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(port.FixedIPs).To(ConsistOf(ports.IP{SubnetID: fixture.subnet4, IPAddress: "10.0.0.91"}))
		Expect(port.Description).To(Equal("graft " + second.Owner.String()))
		Expect(bind(ctx, c, second).Binding).To(Equal(second.Binding))
		untilWarm(ctx, 2)

		third := bind(ctx, openWarm(2*time.Second), allocation(fixture.mac, 92))
		Expect(ids).NotTo(ContainElement(portOf(third)))
		untilWarm(ctx, 0)
		unbind(ctx, c, first, second, third)
	})

	It("are given once by two servers, and not again after a lost answer", func(ctx SpecContext) {
		servers := []*openstack.Cloud{openWarm(time.Hour), openWarm(time.Hour)}
		all := allocations(fixture.mac, 93, 4)
		bindAll(ctx, servers[0], all)
		ids := untilWarm(ctx, 4)
		fixture.proxy.disturb(loseAnswers("PUT ports/id", 1))
		both := [][]network.Allocation{allocations(fixture.mac, 97, 3), allocations(fixture.mac, 100, 3)}
		var group sync.WaitGroup
		for i, c := range servers {
			group.Go(func() {
				defer GinkgoRecover()
				bindAll(ctx, c, both[i])
			})
		}
		group.Wait()
		taken := slices.Concat(both...)
		all = append(all, taken...)
		distinct(all)
		Expect(slices.ContainsFunc(taken,
			func(a network.Allocation) bool { return slices.Contains(ids, portOf(a)) })).To(BeTrue())
		Expect(listed(ctx, definition())).To(HaveLen(len(all)), "orphans, without warm ports")
		Eventually(func() int { return len(warmPorts(ctx)) }).WithContext(ctx).WithTimeout(patience).
			WithPolling(300 * time.Millisecond).Should(BeNumerically(">=", 4))
		unbindAll(ctx, open(definition()), all)
		removeWarm(ctx)
	})

	It("of a server that was killed are deleted by another one", func(ctx SpecContext) {
		a := bind(ctx, openWarm(time.Hour), allocation(fixture.mac, 103))
		untilWarm(ctx, 1)
		removeWarm(ctx, a)
		unbind(ctx, open(definition()), a)
	})
})

// removeWarm deletes the warm ports as a server does that has found them for an hour, and nothing else.
func removeWarm(ctx SpecContext, bound ...network.Allocation) {
	GinkgoHelper()
	now := testingclock.NewFakePassiveClock(time.Now())
	c, err := openstack.New(definition(), openstack.Options{Clock: now, Idle: time.Hour})
	Expect(err).NotTo(HaveOccurred())
	rows := func(_ context.Context, each func(network.Allocation) error) error {
		for _, a := range bound {
			Expect(each(a)).To(Succeed())
		}
		return nil
	}
	Expect(c.Orphans(ctx, rows, true)).To(BeEmpty())
	Expect(warmPorts(ctx)).NotTo(BeEmpty())
	Eventually(func(g Gomega) {
		now.SetTime(now.Now().Add(time.Hour + openstack.Settle(openstack.DefaultTimeout)))
		g.Expect(c.Orphans(ctx, rows, true)).To(BeEmpty())
		g.Expect(graftPorts(ctx)).To(HaveLen(len(bound)))
	}).WithContext(ctx).WithTimeout(patience).Should(Succeed())
}
