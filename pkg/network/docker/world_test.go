// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	wire "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/ipam"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// world is a server over a ledger that can be opened again, and a kernel that is not.
type world struct {
	t        testing.TB
	folder   string
	store    *file.Store
	ledger   *ledger.Ledger
	policy   *policy.Policy
	clock    *clocktesting.FakeClock
	kernel   *kernel
	networks *driver.Driver
	leases   *ipam.Driver
	options  docker.Options
	handler  http.Handler
	// failed reports that an endpoint of a transcript was refused.
	failed bool
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOf(t, "testdata/profile.yaml")
}

func newWorldOf(t testing.TB, profile string) *world {
	t.Helper()
	w := &world{
		t: t, folder: memory.Folder(t), policy: load(t, profile), clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), kernel: newKernel(),
	}
	w.open()
	t.Cleanup(func() { w.shut() })
	return w
}

func load(t testing.TB, file string) *policy.Policy {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.LoadNetworks(source.File{Name: file, Data: raw})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	p, findings := policy.Compile(documents)
	if len(findings.Errors()) > 0 {
		t.Fatal(findings)
	}
	return p
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = file.Open(w.folder, file.Options{}); err != nil {
		w.t.Fatal(err)
	}
	var kept []ledger.Pool
	served := map[string]service.Pool{}
	for name, pool := range w.policy.Pools {
		kept, served[name] = append(kept, pool.Pool), service.Pool{Quarantine: pool.Quarantine}
	}
	ctx := context.Background()
	if w.ledger, err = ledger.Open(ctx, w.store, kept...); err != nil {
		w.t.Fatal(err)
	}
	s := service.New(w.ledger, served, service.Options{Clock: w.clock})
	if err := s.Recover(ctx); err != nil {
		w.t.Fatal(err)
	}
	current := func() *policy.Policy { return w.policy }
	w.leases = ipam.New(ipam.Options{
		Service: s, Policy: current, Store: w.store, Clock: w.clock, Grace: time.Minute,
		Freed: func(network.Allocation) {}, Report: func(error) {},
		Knows: func(ctx context.Context, network, space string, subnet netip.Prefix, address netip.Addr) (there, has bool, err error) {
			return w.networks.HasNetwork(ctx, network, space, subnet, address)
		},
	})
	w.networks = driver.New(driver.Options{
		Policy: current, Leases: w.leases, Store: w.store, Kernel: w.kernel, Clock: w.clock, Patience: 10 * time.Second,
		Grace: 10 * time.Minute, Period: time.Minute,
		Report: func(error) {}, Removed: func(string, string) {},
	})
	if err := w.networks.Recover(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.options = docker.Options{
		Options:  wire.Options{Service: s, Policy: current, Log: testr.NewWithInterface(w.t, testr.Options{})},
		Networks: w.networks, Leases: w.leases,
	}
	w.handler = docker.New(w.options)
}

func (w *world) shut() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

// send sends a request like Docker, with an Accept header and without a content type.
func (w *world) send(method, path, body string) (int, string, http.Header) {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	r.Header.Set("Accept", mediaType)
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	answer, _ := io.ReadAll(recorder.Result().Body)
	return recorder.Code, string(answer), recorder.Result().Header
}

// mediaType is the media type that Docker accepts.
const mediaType = "application/vnd.docker.plugins.v1.2+json"

func (w *world) call(method, body string) (int, string) {
	status, answer, _ := w.send(http.MethodPost, "/"+method, body)
	return status, answer
}

// held returns the allocations in the ledger, one per line.
func (w *world) held() []string {
	w.t.Helper()
	lines := []string{}
	err := w.ledger.All(context.Background(), func(a network.Allocation) error {
		if a.State == network.Bound {
			lines = append(lines, fmt.Sprint(a.Owner, " ", a.Addresses))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}
