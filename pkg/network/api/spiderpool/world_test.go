// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/spiderpool"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// fabric is a cloud that records its calls, assigns MAC addresses and VLANs, and refuses configured addresses.
type fabric struct {
	mutex   sync.Mutex
	calls   []string
	refused netip.Addr
	vlan    uint16
	// hook is called at the beginning of each call, outside of the mutex.
	hook func(call string)
}

func (f *fabric) note(what string, a network.Allocation) error {
	call := fmt.Sprintf("%s %s on %s/%s", what, a.Addresses[0], a.Trunk.Node, a.Trunk.MAC)
	f.mutex.Lock()
	f.calls = append(f.calls, call)
	refused, hook := f.refused, f.hook
	f.mutex.Unlock()
	if hook != nil {
		hook(call)
	}
	if what == "bind" && slices.Contains(a.Addresses, refused) {
		return fmt.Errorf("%w: the port is locked", network.ErrRefused)
	}
	return nil
}

func (f *fabric) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	if err := f.note("bind", a); err != nil {
		return network.Binding{}, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.vlan++
	return network.Binding{MAC: network.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, byte(f.vlan)}, VLAN: 2100 + f.vlan}, nil
}

func (f *fabric) Unbind(_ context.Context, a network.Allocation) error { return f.note("unbind", a) }

// asked returns the calls since the last time.
func (f *fabric) asked() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// world is the codec on a ledger, with the pools of testdata/profile.yaml.
type world struct {
	http.Handler
	t       testing.TB
	policy  *policy.Policy
	ledger  *ledger.Ledger
	service *service.Service
	fabric  *fabric
	clock   *clocktesting.FakeClock
	options api.Options
}

// newWorld returns a world; limit is the limit of its cloud.
func newWorld(t testing.TB, limit ...service.Limit) *world {
	t.Helper()
	store := memory.Open(t)
	w := &world{
		t: t, policy: load(t, "testdata/profile.yaml"), fabric: &fabric{refused: netip.MustParseAddr("10.1.0.66")},
		clock: clocktesting.NewFakeClock(time.Now()), // deadlines are real
	}
	var gate *service.Limiter
	if len(limit) > 0 {
		gate = service.NewLimiter("fabric", limit[0], w.clock)
	}
	var pools []ledger.Pool
	served := map[string]service.Pool{}
	for name, pool := range w.policy.Pools {
		pools = append(pools, pool.Pool)
		one := service.Pool{Quarantine: pool.Quarantine}
		if pool.Cloud != "" {
			one.Cloud, one.Limiter = w.fabric, gate
		}
		served[name] = one
	}
	var err error
	if w.ledger, err = ledger.Open(t.Context(), store, pools...); err != nil {
		t.Fatal(err)
	}
	w.service = service.New(w.ledger, served, service.Options{Clock: w.clock})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); w.service.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	w.options = api.Options{Service: w.service, Policy: func() *policy.Policy { return w.policy }, Log: logr.Discard()}
	w.Handler = spiderpool.New(w.options)
	return w
}

// load compiles a policy.
func load(t testing.TB, path string) *policy.Policy {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.LoadNetworks(source.File{Name: path, Data: data})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	all, findings := policy.Compile(documents)
	if err := findings.Errors().Err(); err != nil {
		t.Fatal(err)
	}
	p, err := all.For("")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The paths.
const (
	allocatePath = "/v1/apis/network.iaas.io/ipam/allocate-ips"
	releasePath  = "/v1/apis/network.iaas.io/ipam/release-ip"
)

// send sends a request, and returns the answer when it is there.
func (w *world) send(method, path string, header http.Header, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	return recorder
}

// pass advances the clock, and ends quarantines.
func (w *world) pass(d time.Duration) {
	w.clock.Step(d)
	if _, err := w.ledger.Expire(context.Background(), w.clock.Now()); err != nil {
		w.t.Fatal(err)
	}
}

// held returns the allocated addresses of a pool, in order, each with its holder and state.
func (w *world) held() []string {
	var held []string
	err := w.ledger.All(context.Background(), func(a network.Allocation) error {
		uid := ""
		if parts := strings.Split(a.Owner.Key, "/"); parts[0] == "uid" {
			uid = parts[1]
		}
		held = append(held, fmt.Sprint(a.Addresses, " ", uid, " ", a.State))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(held)
	return held
}

// eventually waits for a condition that background work fulfils.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until: %s", what)
		}
	}
}
