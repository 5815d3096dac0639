// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leak_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const programProfile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: leaks}
pools:
  pool:
    exclusive: true
    subnets:
    - {prefix: 10.0.0.0/24}
profiles:
  example.com/pool: {pools: [pool]}
`

const programConfig = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: 'unix://%[1]s/graft.sock'}]
metrics: {address: %[2]s}
kubernetes: {kubeconfig: %[3]s}
leaks: {period: 1m}
`

var _ = Describe("the network provider with a kubeconfig", func() {
	It("looks for leaks, and reports a deleted owner in its metrics and in graft ledger gc", func(ctx SpecContext) {
		binary, err := env.Program("../..", "graft-network-provider")
		Expect(err).NotTo(HaveOccurred())
		w := newWorld(land, "v1", false)
		folder, err := os.MkdirTemp("", "leaks") // the path of a unix socket has at most 107 characters
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(os.RemoveAll, folder)
		w.inherit(filepath.Join(folder, "ledger"))
		search, err := w.land.CreateServiceAccount(ctx, account(w.namespace))
		Expect(err).NotTo(HaveOccurred(), "creating the account of the program")
		addresses, err := env.FreeAddresses(ctx, 1)
		Expect(err).NotTo(HaveOccurred(), "finding a free port")
		metrics := addresses[0]
		for name, text := range map[string]string{
			"profile.yaml": programProfile,
			"config.yaml":  fmt.Sprintf(programConfig, folder, metrics, search.Kubeconfig),
		} {
			Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
		}
		start(binary, filepath.Join(folder, "config.yaml"))

		Eventually(env.Get).WithContext(ctx).WithArguments("http://"+metrics+"/metrics").Should(And(
			ContainSubstring(`graft_network_leaks{reason="missing"} 1`), ContainSubstring("graft_network_leaks_unchecked 0"),
		), "metrics after the first search")
		administration, err := remote.Dial("unix://" + remote.Socket(filepath.Join(folder, "ledger")))
		Expect(err).NotTo(HaveOccurred(), "connecting to the socket for administration")
		DeferCleanup(administration.Close)
		var suspects []string
		Expect(administration.GC(ctx, false, func(s gc.Suspect) error {
			suspects = append(suspects, fmt.Sprintf("%s %s %v", s.Allocation.Owner.Key, s.Reason, s.Freed))
			return nil
		})).To(Succeed(), "asking for leaks")
		Expect(suspects).To(Equal([]string{"gone missing false"}), "the leaks that the program reports")
	})
})

// inherit writes a ledger with the allocations of a claim that exists, and of one that does not.
func (w *world) inherit(path string) {
	GinkgoHelper()
	store, err := file.Open(path, file.Options{})
	Expect(err).NotTo(HaveOccurred(), "opening the store")
	defer func() { Expect(store.Close()).To(Succeed()) }()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.250"))
	dynamic, err := b.IPSet()
	Expect(err).NotTo(HaveOccurred())
	subnet := ledger.Subnet{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}
	book, err := ledger.Open(w.ctx, store, ledger.Pool{Name: "pool", Subnets: []ledger.Subnet{subnet}})
	Expect(err).NotTo(HaveOccurred(), "opening the ledger")
	lives := w.claim("lives")
	Expect(w.land.Client().Create(w.ctx, lives)).To(Succeed())
	for key, uid := range map[string]string{
		"lives": string(lives.GetUID()), "gone": "00000000-0000-0000-0000-000000000000",
	} {
		_, _, err := book.Reserve(w.ctx, ledger.Intent{
			Owner: network.Owner{Contract: "dranet", Key: key}, Pool: "pool",
			State: network.Bound, Now: time.Now().Add(-time.Hour),
			Holder: network.Holder{Kind: "ResourceClaim", UID: uid},
		})
		Expect(err).NotTo(HaveOccurred(), "writing the allocation of %s", key)
	}
}

// start runs the program until the end of the spec.
func start(binary, config string) {
	GinkgoHelper()
	p, err := env.Start(&env.Log{}, nil, binary, "--config", config)
	Expect(err).NotTo(HaveOccurred(), "starting the program")
	suite.ShowLog("the program", p.Log)
	DeferCleanup(func() {
		Expect(p.Stop()).To(Succeed(), "stopping the program")
		Expect(p.State().ExitCode()).To(BeZero(), "exit status of the program; it printed:\n%s", p.Log)
	})
}
