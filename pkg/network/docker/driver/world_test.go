// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/driver"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// errStopped is the error of every call after a crash.
var errStopped = errors.New("the process was stopped")

// crash stops everything at a step: a kernel call or a commit, before or after it is made. With once, only that step
// fails.
type crash struct {
	mutex   sync.Mutex
	steps   int
	at      int
	after   bool
	once    bool
	stopped bool
}

// do does a step, unless the process is stopped.
func (c *crash) do(step func() error) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.stopped && !c.once {
		return errStopped
	}
	c.steps++
	if c.steps != c.at {
		return step()
	}
	c.stopped = true
	if c.after {
		_ = step()
	}
	return errStopped
}

// crashing is a store that stops.
type crashing struct {
	ledger.Store
	crash *crash
}

func (s crashing) Commit(ctx context.Context, changes ...ledger.Change) error {
	return s.crash.do(func() error { return s.Store.Commit(ctx, changes...) })
}

// crashingKernel is a kernel that stops.
type crashingKernel struct {
	driver.Kernel
	crash *crash
}

func (k crashingKernel) EnsureSegment(ctx context.Context, s link.Segment) error {
	return k.crash.do(func() error { return k.Kernel.EnsureSegment(ctx, s) })
}

func (k crashingKernel) RemoveSegment(ctx context.Context, s link.Segment, keepVLAN bool) error {
	return k.crash.do(func() error { return k.Kernel.RemoveSegment(ctx, s, keepVLAN) })
}

func (k crashingKernel) EnsurePort(ctx context.Context, s link.Segment, p link.Port) (made link.Port, err error) {
	err = k.crash.do(func() error { made, err = k.Kernel.EnsurePort(ctx, s, p); return err })
	return made, err
}

func (k crashingKernel) RemovePort(ctx context.Context, s link.Segment, endpoint string) error {
	return k.crash.do(func() error { return k.Kernel.RemovePort(ctx, s, endpoint) })
}

// world is the persistent state of a process, and the process.
type world struct {
	*driver.Driver
	t       *testing.T
	store   ledger.Store
	kernel  *kernel
	crash   *crash
	clock   *clocktesting.FakeClock
	policy  *policy.Policy
	ledger  *ledger.Ledger
	service *service.Service
	leases  leases
	options driver.Options
	// real is a kernel in place of the fake one; nil: there is none.
	real driver.Kernel

	mutex   sync.Mutex
	reports []string
	swept   swept
	// dead are the sandboxes that do not exist any more.
	dead map[string]bool
}

// swept are the objects that the reconciler removed.
type swept struct{ Networks, Endpoints, Links []string }

// leases are allocations as a lease has them: the address is the key.
type leases map[netip.Addr]network.Allocation

type finder struct{ *world }

func (f finder) Find(_ context.Context, _ string, _ netip.Prefix, address netip.Addr) (network.Allocation, *policy.Pool, error) {
	a, ok := f.leases[address]
	if !ok {
		return a, nil, network.ErrNotHeld
	}
	a.Owner.Key = address.String()
	return a, f.policy.Pool(a.Pool), nil
}

// compilePolicy returns the policy of testdata/profile.yaml, which all worlds share.
var compilePolicy = sync.OnceValues(func() (*policy.Policy, error) {
	data, err := os.ReadFile("testdata/profile.yaml")
	if err != nil {
		return nil, err
	}
	documents, findings := profile.LoadNetworks(source.File{Name: "profile.yaml", Data: data})
	if err := findings.Err(); err != nil {
		return nil, err
	}
	compiled, findings := policy.Compile(documents)
	return compiled, findings.Errors().Err()
})

func newWorld(t *testing.T) *world {
	t.Helper()
	compiled, err := compilePolicy()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, store: memory.Open(t), kernel: newKernel(), policy: compiled, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)),
		leases: leases{}, dead: map[string]bool{}, crash: &crash{},
	}
	w.options = driver.Options{Patience: 10 * time.Second, Grace: 10 * time.Minute, Period: time.Minute, Boot: "one", Lives: func(sandbox string) bool { return !w.dead[sandbox] }}
	w.start()
	return w
}

func (finder) Sweep(context.Context) error { return nil }

// start starts a new process with the persistent state.
func (w *world) start() {
	w.t.Helper()
	store := crashing{w.store, w.crash}
	w.kernel.crash = w.crash
	var (
		pools  []ledger.Pool
		served = map[string]service.Pool{}
		err    error
	)
	for name, pool := range w.policy.Pools {
		pools = append(pools, pool.Pool)
		served[name] = service.Pool{}
	}
	if w.ledger, err = ledger.Open(w.t.Context(), store, pools...); err != nil {
		w.t.Fatal(err)
	}
	w.service = service.New(w.ledger, served, service.Options{Clock: w.clock, Disabled: func(ctx context.Context, pool string) error {
		return w.CheckPool(ctx, pool)
	}})
	o := w.options
	o.Policy, o.Leases = func() *policy.Policy { return w.policy }, finder{w}
	o.Store, o.Kernel, o.Clock = store, w.kernel, w.clock
	if w.real != nil {
		o.Kernel = crashingKernel{w.real, w.crash}
	}
	o.Report = func(err error) { w.mutex.Lock(); defer w.mutex.Unlock(); w.reports = append(w.reports, err.Error()) }
	o.Removed = func(what, name string) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		all := map[string]*[]string{"network": &w.swept.Networks, "endpoint": &w.swept.Endpoints, "link": &w.swept.Links}[what]
		*all = append(*all, name)
	}
	w.Driver = driver.New(o)
}

// restart stops the process and starts a new one.
func (w *world) restart() {
	w.t.Helper()
	w.crash = &crash{}
	w.start()
	if err := w.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// reboot removes all links and sandboxes of the machine, and starts a new process.
func (w *world) reboot() {
	w.t.Helper()
	w.kernel.clear()
	w.options.Boot += "+"
	w.restart()
}

// rows returns the keys of the driver's rows.
func (w *world) rows() []string {
	w.t.Helper()
	var keys []string
	err := w.store.Scan(w.t.Context(), "record/", func(key, _ []byte) error {
		keys = append(keys, strings.TrimPrefix(string(key), "record/-/"))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return keys
}

// same compares the state with the expected one.
func (w *world) same(what string, want, got []string) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// must is that something succeeds.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(n driver.Network) {
	w.t.Helper()
	w.must(w.CreateNetwork(w.t.Context(), n))
}

func (w *world) attach(e driver.Endpoint) driver.Endpoint {
	w.t.Helper()
	made, err := w.CreateEndpoint(w.t.Context(), e)
	w.must(err)
	return made
}

// plain is a network with a subnet of Docker's own IPAM.
func plain(id, subnet, gateway string, options ...string) driver.Network {
	s := driver.Subnet{Space: "LocalDefault", Prefix: netip.MustParsePrefix(subnet)}
	if gateway != "" {
		s.Gateway = netip.MustParseAddr(gateway)
	}
	return driver.Network{ID: id, Subnets: []driver.Subnet{s}, Options: mapOf(options...)}
}

// bare is a network without addresses of an IPAM driver.
func bare(id string, options ...string) driver.Network {
	return driver.Network{ID: id, Options: mapOf(options...)}
}

func mapOf(pairs ...string) map[string]string {
	var all map[string]string
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		if all == nil {
			all = map[string]string{}
		}
		all[name] = text
	}
	return all
}

func endpoint(of, id string, addresses ...string) driver.Endpoint {
	e := driver.Endpoint{Network: of, ID: id}
	for _, address := range addresses {
		e.Addresses = append(e.Addresses, netip.MustParsePrefix(address))
	}
	return e
}
