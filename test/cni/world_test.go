// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go4.org/netipx"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// plugins returns the folder of host-local.
func plugins(t testing.TB) string {
	t.Helper()
	folder, err := filepath.Abs("../../.cache/tools/bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "host-local")); err != nil {
		t.Fatalf("host-local has not been built: run `make servers` in the root of the repository (%v)", err)
	}
	return folder
}

// host is a machine: its folders of configurations, and of the addresses that host-local keeps. It works in specs and
// in tests without Ginkgo.
type host struct {
	testing.TB
	ctx     context.Context
	options cni.Options
	data    string
}

// newHost writes a network configuration named lan, with a subnet and the range in it.
func newHost(t testing.TB, subnet, first, last string) *host {
	t.Helper()
	h := &host{TB: t, ctx: t.Context(), data: t.TempDir()}
	h.options = cni.Options{Configurations: t.TempDir(), Plugins: plugins(t), Timeout: time.Minute}
	list := fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "lan", "plugins": [
		{"type": "macvlan", "master": "eth1", "ipam": {"type": "host-local", "dataDir": %q,
			"ranges": [[{"subnet": %q, "rangeStart": %q, "rangeEnd": %q}]], "routes": [{"dst": "10.96.0.0/12"}]}},
		{"type": "tuning"}]}`, h.data, subnet, first, last)
	for name, text := range map[string]string{
		"10-lan.conflist": list, "05-broken.conflist": "{", "20-other.conf": `{"name": "other", "type": "bridge"}`,
	} {
		if err := os.WriteFile(filepath.Join(h.options.Configurations, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// kept returns the addresses that host-local has allocated and not released, sorted.
func (h *host) kept() []string {
	h.Helper()
	entries, err := os.ReadDir(filepath.Join(h.data, "lan"))
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	var addresses []netip.Addr
	for _, entry := range entries {
		if address, err := netip.ParseAddr(entry.Name()); err == nil {
			addresses = append(addresses, address)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	texts := make([]string, len(addresses))
	for i, address := range addresses {
		texts[i] = address.String()
	}
	return texts
}

// server is a network provider on the host that allocates addresses; it starts with the state of the previous one.
type server struct {
	*service.Service
	host   *host
	store  ledger.Store
	ledger *ledger.Ledger
	cloud  *cni.PluginCloud

	mutex   sync.Mutex
	reports []string
}

func (h *host) serve(folder string) *server {
	h.Helper()
	store, err := file.Open(folder, file.Options{})
	if err != nil {
		h.Fatal(err)
	}
	s := &server{host: h, store: store, cloud: cni.New("lan", h.options)}
	next := ledger.Subnet{Prefix: netip.MustParsePrefix("10.1.0.0/24"), Dynamic: set(h, "10.1.0.2-10.1.0.9")}
	pools := []ledger.Pool{{Name: "lan"}, {Name: "next", Subnets: []ledger.Subnet{next}}}
	if s.ledger, err = ledger.Open(h.ctx, store, pools...); err != nil {
		h.Fatal(err)
	}
	s.Service = service.New(s.ledger, map[string]service.Pool{"lan": {Cloud: s.cloud}, "next": {}}, service.Options{
		Clock: clock.RealClock{}, Report: func(owner network.Owner, err error) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.reports = append(s.reports, owner.Key+": "+err.Error())
		},
	})
	if err := s.Recover(h.ctx); err != nil {
		h.Fatal(err)
	}
	return s
}

// set returns the addresses of a range.
func set(t testing.TB, text string) *netipx.IPSet {
	t.Helper()
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange(text))
	made, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// run works in the background until the end of the spec, which closes the server.
func (s *server) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	DeferCleanup(func() {
		cancel()
		<-done
		s.close()
	})
}

func (s *server) close() {
	if err := s.store.Close(); err != nil {
		s.host.Error(err)
	}
}

func request(claim int) service.Request {
	return service.Request{
		// All claims are for the device at the same place of the bus, as on many nodes.
		Owner: network.Owner{Contract: "dranet", Key: fmt.Sprintf("claim-uid-%d/pci-0000-27-00-2", claim)}, Pool: "lan",
		Holder: network.Holder{
			Kind: "ResourceClaim", Namespace: "default", Name: fmt.Sprintf("claim-%d", claim), Device: "pci-0000-27-00-2",
		},
	}
}

// intend writes the intent of an allocation into the ledger, as a server does before it calls the cloud.
func (s *server) intend(claim int) network.Allocation {
	GinkgoHelper()
	r := request(claim)
	intent, _, err := s.ledger.Reserve(s.host.ctx, ledger.Intent{
		Owner: r.Owner, Pool: r.Pool, Holder: r.Holder, State: network.Intended, Now: time.Now(),
	})
	Expect(err).NotTo(HaveOccurred(), "writing the intent for claim %d", claim)
	return intent
}

func (s *server) allocate(claim int) network.Allocation {
	GinkgoHelper()
	a, err := s.Allocate(s.host.ctx, request(claim))
	Expect(err).NotTo(HaveOccurred(), "allocating for claim %d", claim)
	return a
}

func (s *server) release(claim int) {
	GinkgoHelper()
	Expect(s.Release(s.host.ctx, request(claim).Owner)).To(Succeed(), "releasing claim %d", claim)
}

// holds reports whether a claim holds something.
func (s *server) holds(claim int) bool {
	_, err := s.Get(s.host.ctx, request(claim).Owner)
	if !errors.Is(err, network.ErrNotHeld) {
		Expect(err).NotTo(HaveOccurred(), "reading the allocation of claim %d", claim)
	}
	return err == nil
}
