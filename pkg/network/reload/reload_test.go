// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// world is an installation under test.
type world struct {
	*reload.Reloader
	options  reload.Options
	store    ledger.Store
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	text     string
	missing  error
	log      strings.Builder
	made     []string
	// broken are the clouds that cannot be made.
	broken map[string]bool
	mutex  sync.Mutex
	// unbound are the allocations that clouds have unbound.
	unbound []string
}

const head = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfile\nmetadata: {name: acme}\n"

// pool returns a profile with one pool of these ranges.
func pool(ranges, more string) string {
	return head + "pools:\n  overlay: {exclusive: true, subnets: [{prefix: 10.0.0.0/24, ranges: [" + ranges + "]}]" + more + "}\n" +
		"profiles: {acme.com/overlay: {pools: [overlay]}}\n"
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), registry: prometheus.NewRegistry()}
	store := memory.Open(t)
	w.store = store
	w.options = reload.Options{
		Read: func() ([]source.File, error) {
			return []source.File{{Name: "acme.yaml", Data: []byte(w.text)}}, w.missing
		},
		Cloud: func(spec policy.CloudSpec) (cloud.Cloud, source.Findings) {
			name := strings.TrimPrefix(spec.Path, "clouds.")
			w.made = append(w.made, name)
			if w.broken[name] {
				return nil, source.Findings{{Message: "no certificate"}}
			}
			return nothing{w, name}, nil
		},
		Settle:  func(policy.CloudSpec) time.Duration { return 0 },
		Service: service.Options{Clock: w.clock},
		Metrics: reload.NewMetrics(w.registry),
		Log:     funcr.New(func(_, line string) { w.log.WriteString(line + "\n") }, funcr.Options{}),
	}
	return w
}

// open opens the installation with a text.
func (w *world) open(t *testing.T, text string) {
	t.Helper()
	var err error
	if w.Reloader, err = w.try(t, text); err != nil {
		t.Fatal(err)
	}
}

func (w *world) try(t *testing.T, text string) (*reload.Reloader, error) {
	w.text = text
	return reload.Open(t.Context(), w.store, w.options)
}

// load changes the text, and returns the log.
func (w *world) load(t *testing.T, text string) string {
	t.Helper()
	w.text = text
	if err := w.Load(t.Context()); err != nil {
		return err.Error()
	}
	return ""
}

func (w *world) allocate(t *testing.T, key string) string {
	t.Helper()
	a, err := w.Service().Allocate(t.Context(), service.Request{
		Owner: network.Owner{Contract: "dranet", Key: key}, Pool: "overlay",
		Holder: network.Holder{Kind: "ResourceClaim", Namespace: "default", Name: key},
	})
	if err != nil {
		return err.Error()
	}
	return a.Addresses[0].String()
}

func (w *world) release(t *testing.T, key string) {
	t.Helper()
	if err := w.Service().Release(t.Context(), network.Owner{Contract: "dranet", Key: key}); err != nil {
		t.Fatal(err)
	}
}

// run runs the service until the test ends.
func (w *world) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done, s := make(chan struct{}), w.Service()
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// told waits until clouds have unbound the released allocations.
func (w *world) told(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for deadline := time.Now().Add(10 * time.Second); len(got) < len(want) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.mutex.Lock()
		got = slices.Sorted(slices.Values(w.unbound))
		w.mutex.Unlock()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what clouds were told (-want +got):\n%s", diff)
	}
}

// counts are successes, failures, whether the last one failed, and the reasons.
func (w *world) counts(t *testing.T) [4]float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var counts [4]float64
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			switch family.GetName() {
			case "graft_network_profile_reloads_total":
				if metric.GetLabel()[0].GetValue() == "success" {
					counts[0] = value
				} else {
					counts[1] = value
				}
			case "graft_network_profile_reload_failed":
				counts[2] = value
			case "graft_network_stranded_allocations":
				counts[3] += value
			}
		}
	}
	return counts
}

// nothing is a cloud that only records releases.
type nothing struct {
	*world
	name string
}

func (nothing) Bind(context.Context, network.Allocation) (network.Binding, error) {
	return network.Binding{}, nil
}
func (n nothing) Unbind(_ context.Context, a network.Allocation) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.unbound = append(n.unbound, n.name+" "+a.Owner.Key)
	return nil
}

const strandedText = `held allocations would be outside of their pools (overlay): 1
  10.0.0.9 of the pool overlay, held by ResourceClaim default/b
Either restore the addresses of the pool, or release the allocations first;
or write whenShrunk: drain in the pool: then owners keep them, and they are not allocated again after their release.`

// TestPoolMustNotShrinkBelowAllocations checks that a pool cannot shrink below its allocations unless it is drained, in a reload and at the start.
func TestPoolMustNotShrinkBelowAllocations(t *testing.T) {
	w := newWorld(t)
	w.open(t, pool("10.0.0.8-10.0.0.9", ""))
	if a, b := w.allocate(t, "a"), w.allocate(t, "b"); a != "10.0.0.8" || b != "10.0.0.9" {
		t.Fatalf("a has %s, b has %s", a, b)
	}
	shrunk := pool("10.0.0.7-10.0.0.8", "")
	for range 3 {
		if diff := cmp.Diff(strandedText, w.load(t, shrunk)); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([4]float64{1, 1, 1, 1}, w.counts(t)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(w.log.String(), "10.0.0.9 of the pool overlay, held by ResourceClaim default/b") || strings.Count(w.log.String(), "Reloading the profiles failed") != 1 {
		t.Errorf("the log is %s", w.log.String())
	}
	if got := w.allocate(t, "c"); !strings.Contains(got, network.ErrExhausted.Error()) {
		t.Errorf("want the earlier pool, which is exhausted; c got %s", got)
	}
	if _, err := w.try(t, shrunk); err == nil || err.Error() != strandedText {
		t.Errorf("a start: %v", err)
	}

	if problem := w.load(t, pool("10.0.0.7-10.0.0.8", ", whenShrunk: drain")); problem != "" {
		t.Fatal(problem)
	}
	if again, other := w.allocate(t, "b"), w.allocate(t, "c"); again != "10.0.0.9" || other != "10.0.0.7" {
		t.Errorf("b has %s, c has %s", again, other)
	}
	w.release(t, "b")
	if got := w.allocate(t, "d"); !strings.Contains(got, network.ErrExhausted.Error()) {
		t.Errorf("a drained address was allocated: d got %s", got)
	}
	if diff := cmp.Diff([4]float64{2, 1, 0, 0}, w.counts(t)); diff != "" {
		t.Error(diff)
	}
}

// TestRefusedProfilesBecomeActiveAfterRelease checks that refused profiles become active soon after the allocations outside are released.
func TestRefusedProfilesBecomeActiveAfterRelease(t *testing.T) {
	w := newWorld(t)
	w.open(t, pool("10.0.0.9", ""))
	w.allocate(t, "b")
	shrunk := pool("10.0.0.8", "")
	if diff := cmp.Diff(strandedText, w.load(t, shrunk)); diff != "" {
		t.Error(diff)
	}
	w.release(t, "b")
	if problem := w.load(t, shrunk); problem != strandedText {
		t.Errorf("want no second attempt before a release, got %s", problem)
	}
	w.clock.Step(10 * time.Second)
	if problem := w.load(t, shrunk); problem != "" {
		t.Error(problem)
	}
	if got := w.allocate(t, "b"); got != "10.0.0.8" {
		t.Errorf("b has %s", got)
	}
}

// TestPoolWithAllocationsMustNotBeRemoved checks that a pool with allocations cannot be removed. In a shared ledger, only the server's own allocations
// count.
func TestPoolWithAllocationsMustNotBeRemoved(t *testing.T) {
	w := newWorld(t)
	w.open(t, pool("10.0.0.9", ""))
	w.allocate(t, "b")
	other := strings.ReplaceAll(pool("10.0.0.8", ", whenShrunk: drain"), "overlay", "other")
	want, _, _ := strings.Cut(strandedText, "Either")
	want += "Allocations of a removed pool cannot be released: write overlay again until nothing of it is held."
	if diff := cmp.Diff(want, w.load(t, other)); diff != "" {
		t.Error(diff)
	}
	w.options.Shared = true
	shared, err := w.try(t, other)
	if err != nil {
		t.Fatalf("loading a pool of another server fails: %v", err)
	}
	w.text = head + "pools: {third: {subnets: [{prefix: 10.0.1.0/24}]}}\n"
	if err := shared.Load(t.Context()); err != nil {
		t.Errorf("a pool that servers share: %v", err)
	}
}

// TestInvalidDocumentsKeepActiveProfiles checks that invalid documents do not change the active profiles.
func TestInvalidDocumentsKeepActiveProfiles(t *testing.T) {
	w := newWorld(t)
	var findings source.Findings
	if _, err := w.try(t, head+"pools: {overlay: {subnets: [{prefix: x}]}}\n"); !errors.As(err, &findings) {
		t.Fatalf("a start: %v", err)
	}
	if _, err := w.try(t, head+"pools: {overlay: {subnets: [{prefix: 10.0.0.0/24}]}}\n"); err == nil || !strings.Contains(err.Error(), "pools.overlay: several servers may serve this pool") {
		t.Errorf("a pool that other servers have too: %v", err)
	}
	w.open(t, pool("10.0.0.9", ""))
	before := w.Policy()
	for name, text := range map[string]string{
		"a document that is not YAML":           "a: [",
		"an empty file":                         "",
		"a misspelt field":                      strings.Replace(pool("10.0.0.9", ""), "ranges", "rangs", 1),
		"an expression that does not compile":   pool("10.0.0.9", ", quotas: [{by: '${ request. }', limit: 1}]"),
		"a pool that is not exclusive any more": strings.Replace(pool("10.0.0.9", ""), "exclusive: true, ", "", 1),
		"a pool for another node":               pool("10.0.0.9", ", nodes: [worker-2]"),
		"a document of another kind":            strings.Replace(pool("10.0.0.9", ""), "NetworkProfile", "ProviderProfile", 1),
	} {
		if problem := w.load(t, text); problem == "" || w.Policy() != before {
			t.Errorf("%s: %q", name, problem)
		}
	}
	w.missing = errors.New("the folder is gone")
	if problem := w.load(t, w.text); problem != "the folder is gone" || w.Policy() != before {
		t.Errorf("without files: want the error and the earlier policy, got %q", problem)
	}
	if diff := cmp.Diff([4]float64{1, 8, 1, 0}, w.counts(t)); diff != "" {
		t.Error(diff)
	}
	w.missing = nil
	if problem := w.load(t, pool("10.0.0.9", "")); problem != "" {
		t.Error(problem)
	}
	if diff := cmp.Diff([4]float64{2, 8, 0, 0}, w.counts(t)); diff != "" {
		t.Error(diff)
	}
}

// TestCloudsAreCreatedAgain checks which clouds are created again by a reload.
func TestCloudsAreCreatedAgain(t *testing.T) {
	w := newWorld(t)
	with := func(clouds string) string { return pool("10.0.0.9", ", cloud: fabric") + "clouds:\n" + clouds }
	fabric := func(url, more string) string {
		return "  fabric: {http: {url: " + url + ", bind: {method: POST, path: /p}, unbind: {method: DELETE, path: /p}}" + more + "}\n"
	}
	w.open(t, with(fabric("https://a", "")))
	for i, step := range []struct {
		text string
		made int
	}{
		{with(fabric("https://a", "")) + "# a comment\n", 1},
		{with("  # in front\n" + fabric("https://a", "")), 1},
		{with(fabric("https://b", "")), 2},
		{with(fabric("https://b", ", limit: {rate: 2}")), 3},
		{pool("10.0.0.9", ""), 3},
		{with(fabric("https://b", "")), 4},
	} {
		if problem := w.load(t, step.text); problem != "" {
			t.Fatalf("step %d: %s", i, problem)
		}
		if len(w.made) != step.made {
			t.Errorf("step %d: %d clouds were made, want %d", i, len(w.made), step.made)
		}
	}
	if !strings.Contains(w.log.String(), "The cloud of the pool changed") {
		t.Errorf("the log is %s", w.log.String())
	}
}

// TestCloudWithoutPoolGetsReleases checks that a cloud without a pool still gets releases of its bindings: while it is declared, also
// after a restart, and otherwise until the server ends.
func TestCloudWithoutPoolGetsReleases(t *testing.T) {
	w := newWorld(t)
	cloud := func(name string) string {
		return "  " + name + ": {http: {url: https://" + name + ", bind: {method: POST, path: /p}, unbind: {method: DELETE, path: /p}}}\n"
	}
	old := pool("10.0.0.1-10.0.0.9", ", cloud: fabric") + "clouds:\n" + cloud("fabric")
	w.open(t, old)
	w.run(t)
	for _, key := range []string{"a", "b", "c"} {
		w.allocate(t, key)
	}
	both := pool("10.0.0.1-10.0.0.9", ", cloud: mesh") + "clouds:\n" + cloud("fabric") + cloud("mesh")
	if problem := w.load(t, both); problem != "" {
		t.Fatal(problem)
	}
	w.allocate(t, "d")
	w.release(t, "a")
	w.release(t, "d")
	w.told(t, "fabric a", "mesh d")

	w.open(t, both)
	w.run(t)
	w.release(t, "b")
	w.told(t, "fabric a", "fabric b", "mesh d")
	for _, text := range []string{pool("10.0.0.1-10.0.0.9", ", cloud: mesh") + "clouds:\n" + cloud("mesh"), both, pool("10.0.0.1-10.0.0.9", "")} {
		if problem := w.load(t, text); problem != "" {
			t.Fatal(problem)
		}
	}
	w.release(t, "c")
	w.told(t, "fabric a", "fabric b", "fabric c", "mesh d")
	for _, want := range []string{
		`"The cloud of the pool changed: existing bindings stay in the previous cloud, and are released there" "pool"="overlay" "cloud"="mesh" "before"="fabric"`,
		`"pool"="overlay" "cloud"="builtin" "before"="mesh"`, `"A cloud was removed from the profiles: `, `"cloud"="fabric"`,
	} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log does not say %s: %s", want, w.log.String())
		}
	}
}

// TestCloudThatCannotBeCreated checks that a cloud that cannot be created is an error only if a pool of this server uses
// it.
func TestCloudThatCannotBeCreated(t *testing.T) {
	w := newWorld(t)
	w.broken = map[string]bool{"fabric": true}
	clouds := "clouds:\n  fabric: {http: {url: https://a, bind: {method: POST, path: /p}, unbind: {method: DELETE, path: /p}}}\n"
	if _, err := w.try(t, pool("10.0.0.9", ", cloud: fabric")+clouds); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("got error %v", err)
	}
	w.open(t, pool("10.0.0.9", "")+clouds)
	if !strings.Contains(w.log.String(), "no certificate") {
		t.Errorf("the log is %s", w.log.String())
	}
	if got := w.allocate(t, "a"); got != "10.0.0.9" {
		t.Errorf("a has %s", got)
	}
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	w.options.Node = "worker-1"
	w.text = pool("10.0.0.9", ", nodes: [worker-1]")
	p, _, err := reload.Check(w.options)
	if err != nil || p.PoolOf(netip.MustParsePrefix("10.0.0.0/24")) == nil {
		t.Errorf("got %v, %v", p, err)
	}
	w.options.Node = "worker-2"
	if _, _, err := reload.Check(w.options); err == nil {
		t.Error("no error without a pool for the node, want one")
	}
}
