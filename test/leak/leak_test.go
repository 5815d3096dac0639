// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leak_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// fill creates live and deleted holders, of each kind and known in each way.
func (w *world) fill() {
	GinkgoHelper()
	onlyUID := func(h *network.Holder) { h.Namespace, h.Name = "", "" }
	onlyName := func(h *network.Holder) { h.UID = "" }
	w.create(w.claim("claim-lives"), nil)
	w.create(w.claim("claim-lives-by-uid"), onlyUID)
	w.create(w.pod("pod-lives"), nil)
	w.create(w.pod("pod-lives-by-name"), onlyName)
	w.remove(w.create(w.claim("claim-gone"), nil))
	w.remove(w.create(w.claim("claim-gone-by-uid"), onlyUID))
	w.remove(w.create(w.pod("pod-gone"), nil))
	w.remove(w.create(w.pod("pod-gone-by-name"), onlyName))
	// Another Pod has its name, as in a StatefulSet.
	w.remove(w.create(w.pod("pod-again"), nil))
	Expect(w.land.Client().Create(w.ctx, w.pod("pod-again"))).To(Succeed())
	w.hold("container", network.Holder{Kind: "Container", UID: "c"})
}

const (
	alive = "claim-lives claim-lives-by-uid container pod-lives pod-lives-by-name"
	whole = "claim-gone claim-gone-by-uid claim-lives claim-lives-by-uid container " +
		"pod-again pod-gone pod-gone-by-name pod-lives pod-lives-by-name"
)

var _ = Describe("the search for leaks", func() {
	It("releases allocations of deleted owners in the second pass after the grace period, and reports each", func() {
		w := newWorld(land, "v1", true)
		w.fill()
		Expect(w.pass(grace-time.Second)).To(BeEmpty(), "failures of a pass before the grace period is over")
		Expect(w.held()).To(Equal(whole), "owners after a pass before the grace period is over")
		Expect(w.pass(time.Minute)).To(BeEmpty(), "failures of the first pass")
		Expect(w.held()).To(Equal(whole), "owners after the first pass")
		w.remove(w.create(w.claim("fresh"), nil))
		Expect(w.pass(period)).To(BeEmpty(), "failures of the second pass")
		Expect(w.held()).To(Equal(strings.Replace(alive, "container", "container fresh", 1)), "owners after the second pass")
		Expect(w.freed).To(Equal(5), "reports of released allocations")
	})

	It("releases nothing unless it is configured to", func() {
		w := newWorld(land, "v1", false)
		w.fill()
		for range 3 {
			Expect(w.pass(grace)).To(BeEmpty(), "failures of a pass")
			Expect(w.held()).To(Equal(whole), "owners after a pass")
		}
	})

	It("releases nothing while kube-apiserver cannot be reached, and nothing of Pods that were created then", func() {
		w := newWorld(land, "v1", true)
		w.fill()
		Expect(w.pass(grace)).To(BeEmpty(), "failures of the first pass")
		w.way.close()
		pod := w.create(w.pod("unheard-of"), nil)
		Expect(w.pass(2 * grace)).To(ContainSubstring("listing the holders of kind Pod: listing the resources of the " +
			"cluster: "))
		Expect(w.held()).To(Equal(whole+" "+pod.GetName()), "owners while kube-apiserver cannot be reached")
		w.way.open()
		Expect(w.pass(period)).To(BeEmpty(), "failures of the first pass afterwards")
		Expect(w.held()).To(Equal(whole+" "+pod.GetName()), "owners after the first pass afterwards")
		Expect(w.pass(period)).To(BeEmpty(), "failures of the second pass afterwards")
		Expect(w.held()).To(Equal(alive+" "+pod.GetName()), "owners after the second pass afterwards")
	})

	DescribeTable("knows a cluster that serves ResourceClaims", func(serves, version, held string) {
		older := startCluster(landscape.Options{
			Without: landscape.AllCRDs(), APIServerArgs: map[string][]string{"runtime-config": {serves}},
		})
		w := newWorld(older, version, true)
		w.create(w.pod("pod-lives"), nil)
		w.remove(w.create(w.pod("pod-gone"), nil))
		w.hold("container", network.Holder{Kind: "Container", UID: "c"})
		if version != "" {
			w.create(w.claim("claim-lives"), nil)
			w.remove(w.create(w.claim("claim-gone"), nil))
		} else {
			w.hold("claim-lives", network.Holder{Kind: "ResourceClaim", UID: "1"})
			w.hold("claim-gone", network.Holder{Kind: "ResourceClaim", UID: "2"})
		}
		Expect(w.pass(grace)).To(BeEmpty(), "failures of the first pass")
		Expect(w.pass(period)).To(BeEmpty(), "failures of the second pass")
		Expect(w.held()).To(Equal(held), "owners after the second pass")
	},
		Entry("in v1beta1 only", "resource.k8s.io/v1=false,resource.k8s.io/v1beta1=true", "v1beta1",
			"claim-lives container pod-lives"),
		Entry("not at all", "resource.k8s.io/v1=false", "", "claim-gone claim-lives container pod-lives"),
	)
})
