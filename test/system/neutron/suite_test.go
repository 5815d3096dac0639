// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/regions"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const (
	region, secureRegion = "RegionOne", "RegionTLS"
	// project and user are those of the cloud under test.
	project, user = "shoot", "graft"
	namePrefix    = "graft"
)

// suiteT is for the suite of package cloudtest, which uses subtests.
var suiteT *testing.T

func TestNeutron(t *testing.T) {
	suiteT = t
	suite.Run(t, "neutron", "network")
}

// fixture is what all specs share.
var fixture struct {
	*stack
	// admin and owner are clients without the proxy: of the administrator, and of the project.
	admin, owner *gophercloud.ServiceClient
	identity     *gophercloud.ServiceClient
	projectID    string
	// userID is the user of all projects, and memberID its role.
	userID, memberID string
	networkID        string
	subnet4          string
	subnet6          string
	credential       *applicationcredentials.ApplicationCredential
	// mac is the MAC address of the NIC of a node, and trunk its trunk.
	mac, trunk string
}

var _ = BeforeSuite(func(ctx SpecContext) {
	fixture.stack = startStack(ctx)
	admin := fixture.client(ctx, "admin", "admin")
	identity := &gophercloud.ServiceClient{ProviderClient: admin, Endpoint: "http://" + fixture.keystone + "/v3/",
		Type: "identity"}
	fixture.identity, fixture.admin = identity, fixture.direct(admin)

	service, err := services.Create(ctx, identity,
		services.CreateOpts{Type: "network", Extra: map[string]any{"name": "neutron"}}).Extract()
	Expect(err).NotTo(HaveOccurred())
	Expect(regions.Create(ctx, identity, regions.CreateOpts{ID: secureRegion}).Err).NotTo(HaveOccurred())
	for name, url := range map[string]string{region: fixture.proxy.url, secureRegion: fixture.secure.neutron} {
		options := endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Name: name, Region: name,
			ServiceID: service.ID, URL: url}
		Expect(endpoints.Create(ctx, identity, options).Err).NotTo(HaveOccurred())
	}
	made, err := projects.Create(ctx, identity, projects.CreateOpts{Name: project, DomainID: "default"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	fixture.projectID = made.ID
	person, err := users.Create(ctx, identity,
		users.CreateOpts{Name: user, DomainID: "default", Password: password}).Extract()
	Expect(err).NotTo(HaveOccurred())
	pages, err := roles.List(identity, roles.ListOpts{Name: "member"}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	members, err := roles.ExtractRoles(pages)
	Expect(err).NotTo(HaveOccurred())
	Expect(members).To(HaveLen(1))
	fixture.userID, fixture.memberID = person.ID, members[0].ID
	Expect(roles.Assign(ctx, identity, members[0].ID,
		roles.AssignOpts{UserID: person.ID, ProjectID: made.ID}).Err).NotTo(HaveOccurred())

	owner := fixture.client(ctx, user, project)
	fixture.owner = fixture.direct(owner)
	own := &gophercloud.ServiceClient{ProviderClient: owner, Endpoint: identity.Endpoint, Type: "identity"}
	fixture.credential, err = applicationcredentials.Create(ctx, own, person.ID,
		applicationcredentials.CreateOpts{Name: "graft"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	net, err := networks.Create(ctx, fixture.owner, networks.CreateOpts{Name: "pods"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	fixture.networkID = net.ID
	fixture.subnet4 = createSubnet(ctx, subnets.CreateOpts{
		IPVersion: gophercloud.IPv4, CIDR: "10.0.0.0/24",
		// Addresses that Neutron chooses must not be those of the specs.
		AllocationPools: []subnets.AllocationPool{{Start: "10.0.0.130", End: "10.0.0.253"}},
		HostRoutes:      []subnets.HostRoute{{DestinationCIDR: "10.20.0.0/16", NextHop: "10.0.0.254"}},
	})
	fixture.subnet6 = createSubnet(ctx, subnets.CreateOpts{IPVersion: gophercloud.IPv6, CIDR: "fd00:10::/64"})
	parent, err := ports.Create(ctx, fixture.owner, ports.CreateOpts{NetworkID: fixture.networkID, Name: "node"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	trunk, err := trunks.Create(ctx, fixture.owner, trunks.CreateOpts{PortID: parent.ID}).Extract()
	Expect(err).NotTo(HaveOccurred())
	fixture.mac, fixture.trunk = parent.MACAddress, trunk.ID
})

func createSubnet(ctx SpecContext, options subnets.CreateOpts) string {
	GinkgoHelper()
	options.NetworkID = fixture.networkID
	made, err := subnets.Create(ctx, fixture.owner, options).Extract()
	Expect(err).NotTo(HaveOccurred())
	return made.ID
}

// No spec may leave a port of the cloud, and the proxy forwards all calls to the next spec.
var _ = AfterEach(func(ctx SpecContext) {
	fixture.proxy.reset()
	left := graftPorts(ctx)
	attached := vlans(ctx, fixture.trunk)
	for _, p := range left {
		if attached[p.ID] != 0 {
			options := trunks.RemoveSubportsOpts{Subports: []trunks.RemoveSubport{{PortID: p.ID}}}
			Expect(trunks.RemoveSubports(ctx, fixture.owner, fixture.trunk, options).Err).NotTo(HaveOccurred())
		}
		Expect(ports.Delete(ctx, fixture.owner, p.ID).ExtractErr()).To(Succeed())
	}
	Expect(namesOf(left)).To(BeEmpty())
})

// graftPorts returns the ports of all clouds under test, as the administrator sees them.
func graftPorts(ctx SpecContext) []ports.Port {
	GinkgoHelper()
	pages, err := ports.List(fixture.admin, ports.ListOpts{NetworkID: fixture.networkID}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	all, err := ports.ExtractPorts(pages)
	Expect(err).NotTo(HaveOccurred())
	var found []ports.Port
	for _, p := range all {
		if strings.HasPrefix(p.Name, namePrefix+"-") {
			found = append(found, p)
		}
	}
	return found
}

func namesOf(all []ports.Port) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// nicWithoutTrunk creates a port for the NIC of another node, and returns its MAC address.
func nicWithoutTrunk(ctx SpecContext) string {
	GinkgoHelper()
	port, err := ports.Create(ctx, fixture.owner, ports.CreateOpts{NetworkID: fixture.networkID, Name: "node"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		for _, t := range trunksOf(ctx, port.ID) {
			Expect(trunks.Delete(ctx, fixture.owner, t.ID).ExtractErr()).To(Succeed())
		}
		Expect(ports.Delete(ctx, fixture.owner, port.ID).ExtractErr()).To(Succeed())
	})
	return port.MACAddress
}

// removeLater removes a network after the spec, with its ports and their trunks. The quotas of other specs count them.
func removeLater(networkID string) {
	DeferCleanup(func(ctx SpecContext) {
		pages, err := ports.List(fixture.owner, ports.ListOpts{NetworkID: networkID}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		all, err := ports.ExtractPorts(pages)
		Expect(err).NotTo(HaveOccurred())
		for _, p := range all {
			for _, t := range trunksOf(ctx, p.ID) {
				Expect(trunks.Delete(ctx, fixture.owner, t.ID).ExtractErr()).To(Succeed())
			}
		}
		for _, p := range all {
			Expect(ports.Delete(ctx, fixture.owner, p.ID).ExtractErr()).To(Succeed())
		}
		Expect(networks.Delete(ctx, fixture.owner, networkID).ExtractErr()).To(Succeed())
	})
}

func trunksOf(ctx SpecContext, parent string) []trunks.Trunk {
	GinkgoHelper()
	pages, err := trunks.List(fixture.owner, trunks.ListOpts{PortID: parent}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	all, err := trunks.ExtractTrunks(pages)
	Expect(err).NotTo(HaveOccurred())
	return all
}

// vlans returns the VLANs of a trunk, by port.
func vlans(ctx SpecContext, trunk string) map[string]int {
	GinkgoHelper()
	subports, err := trunks.GetSubports(ctx, fixture.owner, trunk).Extract()
	Expect(err).NotTo(HaveOccurred())
	byPort := map[string]int{}
	for _, s := range subports {
		byPort[s.PortID] = s.SegmentationID
	}
	return byPort
}

// definition returns the definition of a cloud that uses the application credential.
func definition(change ...func(*openstack.Definition)) *openstack.Definition {
	d := &openstack.Definition{
		Credentials: openstack.Credentials{CloudsFile: cloudsFile("application", applicationCredential()),
			Cloud: "application"},
		NetworkID: fixture.networkID, NamePrefix: namePrefix,
		Trunk: &openstack.Trunk{FirstVLAN: 100, LastVLAN: 199},
	}
	for _, do := range change {
		do(d)
	}
	return d
}

// open returns a cloud.
func open(d *openstack.Definition) *openstack.Cloud {
	GinkgoHelper()
	made, err := openstack.New(d, openstack.Options{Clock: clock.RealClock{}, Timeout: time.Minute})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// allocation returns the intent of an owner for an address of the subnets that ends with a number.
func allocation(mac string, number int) network.Allocation {
	return network.Allocation{
		Owner: network.Owner{Contract: "spiderpool", Key: fmt.Sprintf("uid-%d/%s", number, mac)}, Pool: "pods",
		State: network.Intended, Since: time.Unix(int64(number), 0), Trunk: network.Trunk{Node: "worker-1", MAC: mac},
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(number)})},
	}
}
