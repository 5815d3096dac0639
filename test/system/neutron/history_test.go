// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/history/checker"
)

// The claims of DRANET name no NIC, so that their ports are not attached. The Pods use warm ports.
const historyProfile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: history}
clouds:
  claims:
    timeout: 5s
    openstack: {cloudsFile: %[1]s, cloud: application, networkID: %[2]s, namePrefix: history-claims}
  pods:
    timeout: 5s
    openstack:
      cloudsFile: %[1]s
      cloud: application
      networkID: %[2]s
      namePrefix: history-pods
      trunk: {vlans: 100-199, warmPorts: 4}
pools:
  chosen: {subnets: [{prefix: 10.1.0.0/24, ranges: [10.1.0.1-10.1.0.5]}],
    cloud: claims, quarantine: 0s, exclusive: true}
  named: {subnets: [{prefix: 10.2.0.0/24, ranges: [10.2.0.1-10.2.0.3]}], cloud: pods, quarantine: 0s, exclusive: true}
profiles:
  chosen: {pools: [chosen]}
`

// historyCloud is Neutron with a network of its own.
type historyCloud struct{ networkID string }

func newHistoryCloud(ctx SpecContext) historyCloud {
	GinkgoHelper()
	made, err := networks.Create(ctx, fixture.owner, networks.CreateOpts{Name: "history"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	removeLater(made.ID)
	none := ""
	for _, cidr := range []string{"10.1.0.0/24", "10.2.0.0/24"} {
		options := subnets.CreateOpts{NetworkID: made.ID, IPVersion: gophercloud.IPv4, CIDR: cidr, GatewayIP: &none}
		Expect(subnets.Create(ctx, fixture.owner, options).Err).NotTo(HaveOccurred())
	}
	options := ports.CreateOpts{NetworkID: made.ID, Name: "node", MACAddress: checker.NIC, FixedIPs: []ports.IP{}}
	parent, err := ports.Create(ctx, fixture.owner, options).Extract()
	Expect(err).NotTo(HaveOccurred())
	Expect(trunks.Create(ctx, fixture.owner, trunks.CreateOpts{PortID: parent.ID}).Err).NotTo(HaveOccurred())
	return historyCloud{made.ID}
}

// Recover implements checker.Cloud.
func (historyCloud) Recover() { fixture.proxy.reset() }

// Owners implements checker.Cloud.
func (c historyCloud) Owners(ctx context.Context) map[string]string {
	GinkgoHelper()
	pages, err := ports.List(fixture.owner, ports.ListOpts{NetworkID: c.networkID}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	found, err := ports.ExtractPorts(pages)
	Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	for _, p := range found {
		for _, fixed := range p.FixedIPs {
			_, all[fixed.IPAddress], _ = strings.Cut(p.Description, " ")
		}
	}
	return all
}

// loseSome closes the connection instead of answering the first call and one of n others, at random: two clients that
// repeat the same calls would otherwise lose the same answer forever. A busy machine makes few calls.
func loseSome(n int, random *rand.Rand, lost *atomic.Int64) func(http.ResponseWriter, *http.Request, http.Handler) {
	var mutex sync.Mutex
	own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		mutex.Lock()
		loses := lost.Load() == 0 || own.IntN(n) == 0
		mutex.Unlock()
		if loses {
			lost.Add(1)
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}
}

var _ = Describe("the history of a program with this cloud", func() {
	It("is linearizable while it and Neutron are killed and answers are lost", func(ctx SpecContext) {
		cloud := newHistoryCloud(ctx)
		w := checker.New(1, cloud,
			fmt.Sprintf(historyProfile, cloudsFile("application", applicationCredential()), cloud.networkID))
		w.Start("ledger: {path: %[1]s/ledger}", 1)
		var lost atomic.Int64
		w.Run(ctx, 2, func(random *rand.Rand) {
			fixture.proxy.disturb(loseSome(12, random, &lost))
			checker.Pause(random, 2000, 4000)
			w.Restart(0)
			checker.Pause(random, 2000, 4000)
			fixture.server.Kill()
			fixture.startNeutron(ctx)
			checker.Pause(random, 1000, 2000)
		})
		Expect(lost.Load()).To(BeNumerically(">", 0), "no answer was lost")
	})
})
