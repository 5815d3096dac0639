// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// check runs graft cloud check for a profile with one cloud, and returns its output and exit status.
func check(networkID string, more string, arguments ...string) (string, int) {
	GinkgoHelper()
	clouds := cloudsFile("application", applicationCredential())
	profile := file("profile.yaml", fmt.Sprintf(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: openstack}
clouds:
  neutron: {openstack: {cloudsFile: %q, cloud: application, networkID: %s, trunk: {vlans: 100-199}%s}}
pools:
  pods: {cloud: neutron, exclusive: true, subnets: [{prefix: 10.0.0.0/24}]}
`, clouds, networkID, more))
	var out bytes.Buffer
	status := app.Main("test", append([]string{"cloud", "check", profile}, arguments...),
		&app.Streams{Out: &out, Err: &out})
	return out.String(), status
}

var _ = Describe("graft cloud check", func() {
	It("finds nothing missing, and changes nothing", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		before := portsOfNetwork(ctx)
		out, status := check(fixture.networkID, ", subnetIDs: ["+fixture.subnet4+"]", "--nic", mac)
		Expect(out).To(Equal(fmt.Sprintf(`neutron: ok: credentials and endpoint of Neutron
neutron: ok: network %s
neutron: ok: subnet %s
neutron: ok: permission to list ports
neutron: ok: permission to create ports
neutron: ok: extension trunk
neutron: ok: permission to list trunks
neutron: ok: trunk of the NIC %s: %s, 0 sub-ports
neutron: ok: quota of ports: 1 used, no limit
neutron: ok: quota of trunks: 1 used, no limit
`, fixture.networkID, fixture.subnet4, mac, trunk)))
		Expect(status).To(BeZero())
		Expect(portsOfNetwork(ctx)).To(Equal(before))
	})

	It("finds a missing permission in a network of another project, and a NIC without a trunk", func(ctx SpecContext) {
		mac := nicWithoutTrunk(ctx)
		out, status := check(sharedNetwork(ctx), "", "--nic", mac)
		Expect(status).To(Equal(1))
		Expect(out).To(ContainSubstring(
			"neutron: FAILED: permission to create ports: creating a port: OpenStack answered 403"))
		Expect(out).To(ContainSubstring("has no trunk: create one, or write trunk.create: true"))
	})

	It("finds a full quota, and says that a permission could not be tested", func(ctx SpecContext) {
		before := len(portsOfNetwork(ctx))
		limit := func(ctx SpecContext, ports int) {
			GinkgoHelper()
			_, err := quotas.Update(ctx, fixture.admin, fixture.projectID, quotas.UpdateOpts{Port: &ports}).Extract()
			Expect(err).NotTo(HaveOccurred())
		}
		limit(ctx, before)
		DeferCleanup(limit, -1)
		out, status := check(sharedNetwork(ctx), "")
		Expect(status).To(Equal(1))
		Expect(out).To(ContainSubstring(
			"neutron: FAILED: permission to create ports: not tested, because the quota of ports is used up"))
		Expect(out).To(ContainSubstring(fmt.Sprintf("neutron: FAILED: quota of ports: %d of %d used: the quota is used up",
			before,
			before)))
	})

	It("finds a network that does not exist", func() {
		out, status := check("00000000-0000-4000-8000-000000000000", "")
		Expect(status).To(Equal(1))
		Expect(out).To(ContainSubstring("neutron: FAILED: network 00000000-0000-4000-8000-000000000000"))
	})
})

// sharedNetwork creates a network of another project that the project may read, and returns its ID.
func sharedNetwork(ctx SpecContext) string {
	GinkgoHelper()
	shared := true
	made, err := networks.Create(ctx, fixture.admin, networks.CreateOpts{Name: "shared", Shared: &shared}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(networks.Delete(ctx, fixture.admin, made.ID).ExtractErr()).To(Succeed()) })
	return made.ID
}

// portsOfNetwork returns the IDs of all ports of the network.
func portsOfNetwork(ctx SpecContext) (ids []string) {
	GinkgoHelper()
	pages, err := ports.List(fixture.admin,
		ports.ListOpts{NetworkID: fixture.networkID, SortKey: "id", SortDir: "asc"}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	all, err := ports.ExtractPorts(pages)
	Expect(err).NotTo(HaveOccurred())
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

var _ = Describe("a port without an allocation", func() {
	It("is detached and deleted, and no other port is", func(ctx SpecContext) {
		mac, trunk := fixture.mac, fixture.trunk
		other := foreign(ctx, "10.0.0.140")
		now := testingclock.NewFakePassiveClock(time.Now())
		c, err := openstack.New(definition(), openstack.Options{Clock: now, Timeout: time.Minute})
		Expect(err).NotTo(HaveOccurred())
		held, lost := bind(ctx, c, allocation(mac, 130)), bind(ctx, c, allocation(mac, 131))
		unattached := allocation("", 132)
		unattached = bind(ctx, open(definition(func(d *openstack.Definition) { d.Trunk = nil })), unattached)
		search := func() []cloud.Orphan {
			GinkgoHelper()
			found, err := c.Orphans(ctx,
				func(_ context.Context, each func(network.Allocation) error) error { return each(held) }, true)
			Expect(err).NotTo(HaveOccurred())
			return found
		}
		Expect(search()).To(BeEmpty(), "a port that was not seen before")
		now.SetTime(now.Now().Add(openstack.Settle(time.Minute)))
		Expect(search()).To(ConsistOf(
			cloud.Orphan{ID: portOf(lost), Owner: lost.Owner, Addresses: lost.Addresses, Removed: true},
			cloud.Orphan{ID: portOf(unattached), Owner: unattached.Owner, Addresses: unattached.Addresses, Removed: true},
		))
		Expect(vlans(ctx, trunk)).To(HaveLen(1))
		Expect(portsOfNetwork(ctx)).To(And(ContainElements(portOf(held), other.ID), Not(ContainElement(portOf(lost)))))
		Expect(search()).To(BeEmpty())
		unbind(ctx, c, held)
	})
})

var _ = Describe("a device", func() {
	It("has the attributes and the configuration of its port", func(ctx SpecContext) {
		other := foreign(ctx, "10.0.0.141")
		got, err := open(definition()).Describe(ctx, other.MACAddress)
		Expect(err).NotTo(HaveOccurred())
		const prefix = "graft.provider.extensions.gardener.cloud/neutron"
		mtu, secured := int64(1500), true
		text := func(s string) device.Attribute { return device.Attribute{String: &s} }
		Expect(got.Attributes).To(Equal(map[string]device.Attribute{
			prefix + "Port": text(other.ID), prefix + "Network": text(fixture.networkID), prefix + "NetworkName": text("pods"),
			prefix + "Subnet": text(fixture.subnet4), prefix + "MTU": {Int: &mtu}, prefix + "PortSecurity": {Bool: &secured},
		}))
		Expect(got.Config.Interface.MTU).To(HaveValue(BeEquivalentTo(1500)))
		Expect(got.Config.Routes).To(Equal([]device.Route{{Destination: "10.20.0.0/16", Gateway: "10.0.0.254"}}))
	})

	It("that Neutron does not know has none", func(ctx SpecContext) {
		Expect(open(definition()).Describe(ctx, "02:00:00:00:00:99")).To(BeZero())
	})
})
