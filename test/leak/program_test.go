// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leak_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
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

// TestProgram runs the real program on a ledger with a missing owner, and searches for leaks.
func TestProgram(t *testing.T) {
	w := newWorld(t, land, "v1", false)
	folder, err := os.MkdirTemp("", "leaks") // the names of unix sockets are short
	w.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	const binary = "../../bin/graft-network-provider"
	w.must(env.CheckBuilt(binary))
	w.inherit(filepath.Join(folder, "ledger"))
	search, err := w.land.CreateServiceAccount(t.Context(), account(w.namespace))
	w.must(err)
	addresses, err := env.FreeAddresses(t.Context(), 1)
	w.must(err)
	metrics := addresses[0]
	for name, text := range map[string]string{"profile.yaml": programProfile, "config.yaml": fmt.Sprintf(programConfig, folder, metrics, search.Kubeconfig)} {
		w.must(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	start(t, binary, filepath.Join(folder, "config.yaml"))

	w.eventually("the program has looked", func() bool {
		text, _ := env.Get(t.Context(), "http://"+metrics+"/metrics")
		return strings.Contains(text, `graft_network_leaks{reason="missing"} 1`) && strings.Contains(text, "graft_network_leaks_unjudged 0")
	})
	administration, err := remote.Dial("unix://" + remote.Socket(filepath.Join(folder, "ledger")))
	w.must(err)
	defer administration.Close()
	var said []string
	w.must(administration.GC(t.Context(), false, func(s remote.Suspect) error {
		said = append(said, fmt.Sprintf("%s %s %v", s.Allocation.Owner.Key, s.Reason, s.Freed))
		return nil
	}))
	w.want("what is said of a holder that is missing", "gone missing false", strings.Join(said, "; "))
}

// inherit makes a ledger with one holder that lives, and one that is gone.
func (w *world) inherit(path string) {
	w.t.Helper()
	store, err := file.Open(path, file.Options{})
	w.must(err)
	defer func() { w.must(store.Close()) }()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.250"))
	dynamic, err := b.IPSet()
	w.must(err)
	book, err := ledger.Open(w.t.Context(), store, ledger.Pool{Name: "pool", Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}}})
	w.must(err)
	lives := w.claim("lives")
	w.must(w.land.Client().Create(w.t.Context(), lives))
	for key, uid := range map[string]string{"lives": string(lives.GetUID()), "gone": "00000000-0000-0000-0000-000000000000"} {
		_, _, err := book.Reserve(w.t.Context(), ledger.Intent{
			Owner: network.Owner{Contract: "dranet", Key: key}, Pool: "pool", State: network.Bound, Now: time.Now().Add(-time.Hour),
			Holder: network.Holder{Kind: "ResourceClaim", UID: uid},
		})
		w.must(err)
	}
}

// start runs the program until the test ends; what it logs is shown when the test fails.
func start(t *testing.T, binary, config string) {
	t.Helper()
	p, err := env.Start(&env.Log{}, nil, binary, "--config", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil || !p.State().Success() {
			t.Errorf("the program has ended with %v, %v", p.State(), err)
		}
		if t.Failed() {
			t.Log(p.Log)
		}
	})
}

func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("it does not come true: %s", what)
		}
	}
}
