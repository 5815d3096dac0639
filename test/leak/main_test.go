// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package leak_test looks for leaks in a cluster: a real kube-apiserver has the Pods and ResourceClaims, a real ledger
// has their allocations, and the search runs with exactly the documented permissions. The clock is a fake, so that no
// spec waits for a grace period.
package leak_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// land is the cluster that most specs share.
var land *landscape.Landscape

const (
	period = 5 * time.Minute
	grace  = 10 * time.Minute
	// patience limits one pass.
	patience = 90 * time.Second
)

func TestLeak(t *testing.T) { suite.Run(t, "leak", "network") }

var _ = BeforeSuite(func() {
	land = startCluster(landscape.Options{Without: landscape.AllCRDs()})
})

// startCluster starts servers, and stops them when the current node, or the suite, ends.
func startCluster(options landscape.Options) *landscape.Landscape {
	GinkgoHelper()
	// The servers outlive the context of a node.
	started, err := landscape.Start(context.Background(), options)
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(started.Stop)
	return started
}

// world is the search for leaks with all that is around it.
type world struct {
	ctx       context.Context // of the spec, for cleanups too
	land      *landscape.Landscape
	version   string // of the API of claims
	namespace string
	clock     *clocktesting.FakeClock
	service   *service.Service
	way       *way
	found     *gc.Reconciler

	// freed counts the reports of released allocations.
	freed int

	mutex  sync.Mutex
	failed []string
}

// permissions are all that the search needs.
var permissions = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
	{
		APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims"},
		Verbs: []string{"get", "list"},
	},
}

// account returns the account of a search.
func account(namespace string) landscape.ServiceAccountOptions {
	return landscape.ServiceAccountOptions{Namespace: namespace, Name: "graft-" + namespace, ClusterRules: permissions}
}

// newWorld begins a search in its own namespace. It ends at the end of the spec.
func newWorld(in *landscape.Landscape, version string, free bool) *world {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{ctx: ctx, land: in, version: version, clock: clocktesting.NewFakeClock(time.Now())}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaks-"}}
	Expect(in.Client().Create(ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	search, err := in.CreateServiceAccount(ctx, account(w.namespace))
	Expect(err).NotTo(HaveOccurred(), "creating the account of the search")
	w.way = newWay(search.Config)
	w.serve()

	options := kube.Options{Config: w.way.config, Clock: w.clock, Timeout: 30 * time.Second}
	census, err := kube.New(options)
	Expect(err).NotTo(HaveOccurred(), "creating the snapshot of live objects")
	DeferCleanup(cancel)
	w.found = gc.New(gc.Options{
		Ledger: w.ledger(), Release: w.service.ReleaseSince, Census: census, Clock: w.clock,
		Free: free, Period: period, Grace: grace, Share: 100,
		Elsewhere: func(network.Allocation) bool { return false }, Done: func(gc.Summary) {},
		Report: func(s gc.Suspect) {
			if s.Freed {
				w.freed++
			}
		},
		Failed: func(err error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.failed = append(w.failed, err.Error())
		},
	})
	return w
}

// books are the ledgers of services.
var books sync.Map

func (w *world) ledger() *ledger.Ledger {
	of, _ := books.Load(w.service)
	return of.(*ledger.Ledger)
}

// serve opens a ledger and allocates from it.
func (w *world) serve() {
	GinkgoHelper()
	store := memory.Open(GinkgoTB())
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.0.250"))
	dynamic, err := b.IPSet()
	Expect(err).NotTo(HaveOccurred())
	subnet := ledger.Subnet{Prefix: netip.MustParsePrefix("10.0.0.0/24"), Dynamic: dynamic}
	book, err := ledger.Open(w.ctx, store, ledger.Pool{Name: "pool", Subnets: []ledger.Subnet{subnet}})
	Expect(err).NotTo(HaveOccurred(), "opening the ledger")
	w.service = service.New(book, map[string]service.Pool{"pool": {}}, service.Options{Clock: w.clock})
	books.Store(w.service, book)
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

// create creates an object that holds an address. The caller can change the holder in the ledger.
func (w *world) create(object client.Object, known func(h *network.Holder)) client.Object {
	GinkgoHelper()
	Expect(w.land.Client().Create(w.ctx, object)).To(Succeed(), "creating %s", object.GetName())
	kind := "Pod"
	if _, is := object.(*unstructured.Unstructured); is {
		kind = "ResourceClaim"
	}
	h := network.Holder{
		Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()), Node: w.namespace,
	}
	if known != nil {
		known(&h)
	}
	w.hold(object.GetName(), h)
	return object
}

func (w *world) hold(key string, h network.Holder) {
	GinkgoHelper()
	request := service.Request{Owner: network.Owner{Contract: "test", Key: key}, Pool: "pool", Holder: h}
	_, err := w.service.Allocate(w.ctx, request)
	Expect(err).NotTo(HaveOccurred(), "allocating for %s", key)
}

func (w *world) remove(object client.Object) {
	GinkgoHelper()
	err := w.land.Client().Delete(w.ctx, object, client.GracePeriodSeconds(0))
	Expect(err).NotTo(HaveOccurred(), "deleting %s", object.GetName())
}

// held returns the keys of the owners that hold something.
func (w *world) held() string {
	GinkgoHelper()
	var keys []string
	Expect(w.ledger().All(w.ctx, func(a network.Allocation) error {
		keys = append(keys, a.Owner.Key)
		return nil
	})).To(Succeed(), "reading the ledger")
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// pass makes one pass after a time, and returns what failed.
func (w *world) pass(after time.Duration) string {
	GinkgoHelper()
	w.clock.Step(after)
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.failed = nil
	if err := w.found.RunOnce(ctx); err != nil {
		w.failed = append(w.failed, err.Error())
	}
	return strings.Join(w.failed, "; ")
}

// way is a proxy for connections to kube-apiserver, which can be closed.
type way struct {
	config *rest.Config
	target string

	mutex       sync.Mutex
	closed      bool
	connections map[net.Conn]struct{}
}

func newWay(config *rest.Config) *way {
	GinkgoHelper()
	target, err := url.Parse(config.Host)
	if err != nil || target.Host == "" {
		target = &url.URL{Host: config.Host}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred(), "listening")
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
	DeferCleanup(func() {
		_ = listener.Close()
		w.close()
	})
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

// close closes all connections and rejects new ones.
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
