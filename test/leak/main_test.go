// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package leak_test lets leaks be looked for in a cluster: a real kube-apiserver has the Pods and ResourceClaims, a real ledger what they hold,
// and the search runs with no more than the permissions that it says it needs. Time is given, so that nobody waits for grace periods.
//
// Enter at TestMain, then at world.
package leak_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc/kube"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// land is the cluster that most tests share.
var land *landscape.Landscape

const (
	period = 5 * time.Minute
	grace  = 10 * time.Minute
	// patience bounds every wait.
	patience = 90 * time.Second
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, func(ctx context.Context, s *landscape.Suite) (err error) {
		land, err = s.Start(ctx, landscape.Options{Without: landscape.AllCRDs()})
		return err
	}))
}

// world is the search for leaks with all that is around it.
type world struct {
	t         *testing.T
	land      *landscape.Landscape
	version   string // of the API of claims
	namespace string
	clock     *clocktesting.FakeClock
	service   *service.Service
	way       *way
	found     *gc.Reconciler

	mutex  sync.Mutex
	failed []string
}

// permissions are all that the search needs.
var permissions = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

// account is that of a search.
func account(namespace string) landscape.ServiceAccountOptions {
	return landscape.ServiceAccountOptions{Namespace: namespace, Name: "graft-" + namespace, ClusterRules: permissions}
}

// newWorld begins a search; each has a namespace of its own.
func newWorld(t *testing.T, in *landscape.Landscape, version string, free bool) *world {
	t.Helper()
	w := &world{t: t, land: in, version: version, clock: clocktesting.NewFakeClock(time.Now())}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaks-"}}
	w.must(in.Client().Create(t.Context(), namespace))
	w.namespace = namespace.Name
	search, err := in.CreateServiceAccount(t.Context(), account(w.namespace))
	w.must(err)
	w.way = newWay(t, search.Config)
	w.serve()

	census, err := kube.New(kube.Options{Config: w.way.config, Clock: w.clock, Patience: 30 * time.Second, Log: logr.Discard()})
	w.must(err)
	events, err := kube.NewEvents(w.way.config, logr.Discard())
	w.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { census.Run(ctx) })
	group.Go(func() { w.tick(ctx) })
	t.Cleanup(func() { cancel(); group.Wait(); events.Stop() })
	w.found = gc.New(gc.Options{
		Ledger: w.ledger(), Release: w.service.ReleaseSince, Census: census, Clock: w.clock, Free: free, Period: period, Grace: grace, Share: 100,
		Report: events.Report,
		Failed: func(err error) { w.mutex.Lock(); defer w.mutex.Unlock(); w.failed = append(w.failed, err.Error()) },
	})
	return w
}

// books are the ledgers of services.
var books sync.Map

func (w *world) ledger() *ledger.Ledger {
	of, _ := books.Load(w.service)
	return of.(*ledger.Ledger)
}

// serve opens a ledger, and gives out of it.
func (w *world) serve() {
	store := memory.Open(w.t)
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.250"))
	dynamic, err := b.IPSet()
	w.must(err)
	pool := ledger.Pool{Name: "pool", Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}}}
	book, err := ledger.Open(w.t.Context(), store, pool)
	w.must(err)
	w.service = service.New(book, map[string]service.Pool{"pool": {}}, service.Options{Clock: w.clock})
	books.Store(w.service, book)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// tick changes a Pod and a claim all the time, as things do in a cluster: a quiet one tells only once a minute that nothing has happened.
func (w *world) tick(ctx context.Context) {
	objects := []client.Object{w.pod("tick"), w.claim("tick")}
	for i := 0; ; i++ {
		for _, object := range objects {
			object.SetLabels(map[string]string{"tick": fmt.Sprint(i)})
			if i == 0 {
				_ = w.land.Client().Create(ctx, object) // where claims are not served there is none
			} else {
				_ = w.land.Client().Update(ctx, object)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (w *world) pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func (w *world) claim(name string) *unstructured.Unstructured {
	request := map[string]any{"name": "nic", "deviceClassName": "nic"}
	if w.version == "v1" {
		request = map[string]any{"name": "nic", "exactly": map[string]any{"deviceClassName": "nic"}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/" + w.version, "kind": "ResourceClaim",
		"metadata": map[string]any{"namespace": w.namespace, "name": name},
		"spec":     map[string]any{"devices": map[string]any{"requests": []any{request}}},
	}}
}

// create makes an object that holds an address; how much of it the ledger knows is up to the caller.
func (w *world) create(object client.Object, known func(h *network.Holder)) client.Object {
	w.t.Helper()
	w.must(w.land.Client().Create(w.t.Context(), object))
	kind := "Pod"
	if _, is := object.(*unstructured.Unstructured); is {
		kind = "ResourceClaim"
	}
	h := network.Holder{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()), Node: w.namespace}
	if known != nil {
		known(&h)
	}
	w.hold(object.GetName(), h)
	return object
}

func (w *world) hold(key string, h network.Holder) {
	w.t.Helper()
	_, err := w.service.Allocate(w.t.Context(), service.Request{Owner: network.Owner{Contract: "test", Key: key}, Pool: "pool", Holder: h})
	w.must(err)
}

func (w *world) remove(object client.Object) {
	w.t.Helper()
	w.must(w.land.Client().Delete(w.t.Context(), object, client.GracePeriodSeconds(0)))
}

// held are the keys of those who hold something.
func (w *world) held() string {
	var keys []string
	w.must(w.ledger().All(context.WithoutCancel(w.t.Context()), func(a network.Allocation) error {
		keys = append(keys, a.Owner.Key)
		return nil
	}))
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// pass makes one after a time, and gives what failed.
func (w *world) pass(after time.Duration) string {
	w.t.Helper()
	w.clock.Step(after)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.failed = nil
	if err := w.found.Pass(ctx); err != nil {
		w.failed = append(w.failed, err.Error())
	}
	return strings.Join(w.failed, "; ")
}

// way is the way to kube-apiserver, which can be closed.
type way struct {
	config *rest.Config
	target string

	mutex       sync.Mutex
	closed      bool
	connections map[net.Conn]struct{}
}

func newWay(t *testing.T, config *rest.Config) *way {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil || target.Host == "" {
		target = &url.URL{Host: config.Host}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{config: rest.CopyConfig(config), target: target.Host, connections: map[net.Conn]struct{}{}}
	w.config.Host = "https://" + listener.Addr().String()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go w.forward(connection)
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); w.close() })
	return w
}

func (w *way) forward(from net.Conn) {
	to, err := net.Dial("tcp", w.target)
	if err != nil || !w.keep(from, to) {
		_ = from.Close()
		return
	}
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

func (w *way) keep(connections ...net.Conn) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, connection := range connections {
		if w.closed {
			_ = connection.Close()
		} else {
			w.connections[connection] = struct{}{}
		}
	}
	return !w.closed
}

// close breaks all connections, and lets no other be made.
func (w *way) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	for connection := range w.connections {
		_ = connection.Close()
	}
	clear(w.connections)
}

func (w *way) open() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = false
}
