// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// byService registers a Service. Karmada then uses HTTP/1.1, so that each call has a connection.
const byService = "service: {namespace: graft-system, name: interpreter}, timeoutSeconds: 5"

// askers is the number of concurrent callers.
const askers = 4

// ResolveEndpoint implements webhookutil.ServiceResolver: the Service is the balancer.
func (b *balancer) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: b.Addr().String()}, nil
}

// reach returns the number of current connections to a replica, and of all connections.
func (b *balancer) reach(address string) (open, all int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.open[address], b.handed[address]
}

func (b *balancer) isReady(address string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.targets[address]
}

// load calls steadily, and continues when a call fails.
type load struct {
	done  [askers]atomic.Int64
	mutex sync.Mutex
	// failed are the errors of calls since the last check.
	failed []error
}

// newLoad calls by the registration until the end of the spec.
func newLoad(b *balancer) *load {
	GinkgoHelper()
	object, err := registered()
	Expect(err).NotTo(HaveOccurred(), "reading the registration")
	c := &configuration.Configuration{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, c)).To(Succeed())
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(c), Services: b})
	Expect(err).NotTo(HaveOccurred(), "reading the registration")
	l := &load{}
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for n := range askers {
		all.Go(func() {
			defer GinkgoRecover()
			for ctx.Err() == nil {
				l.ask(ctx, d)
				l.done[n].Add(1)
				time.Sleep(pause)
			}
		})
	}
	DeferCleanup(func() {
		end()
		all.Wait()
	})
	return l
}

// ask makes one call. A wrong answer fails the spec at once.
func (l *load) ask(ctx context.Context, d *dispatch.Dispatcher) {
	a, err := d.Interpret(ctx, question(queue, 0))
	if err == nil {
		Expect(a.Replicas).To(HaveValue(BeEquivalentTo(3)), "replicas in an answer")
		return
	}
	if ctx.Err() == nil {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.failed = append(l.failed, err)
	}
}

// more waits until each caller has further answers, the first of which may belong to an earlier call.
func (l *load) more() {
	GinkgoHelper()
	for n := range askers {
		Eventually(l.done[n].Load).Should(BeNumerically(">", l.done[n].Load()+10), "calls of caller %d", n)
	}
}

// failures returns the errors since the last call of it.
func (l *load) failures() []error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	failed := l.failed
	l.failed = nil
	return failed
}

// none checks that calls go on, and none fails.
func (l *load) none() {
	GinkgoHelper()
	l.more()
	Expect(l.failures()).To(BeEmpty(), "failed calls")
}

// lose stops a replica with a signal that it cannot handle, until back starts one again: at most as many calls fail as
// it has connections, including those that are opened until its removal. The client may use one of these at any time,
// because it does not learn that they are dead.
func (l *load) lose(r *replica, signal syscall.Signal, back func()) {
	GinkgoHelper()
	l.none()
	open, before := r.b.reach(r.address)
	Expect(r.Signal(signal)).To(Succeed(), "sending %s", signal)
	Eventually(r.b.isReady).WithArguments(r.address).Should(BeFalse(), "the balancer takes the replica for ready")
	_, after := r.b.reach(r.address)
	l.more()
	back()
	l.more() // calls from before have an answer
	failed := l.failures()
	connections := fmt.Sprintf("with %d connections and %d more", open, after-before)
	Expect(len(failed)).To(BeNumerically("<=", open+after-before), "failed calls, %s: %v", connections, failed)
	AddReportEntry("failed calls", fmt.Sprintf("%d after %s, %s", len(failed), signal, connections))
	l.none()
}

var _ = Describe("two replicas under steady calls", func() {
	It("fail only the calls in progress when one of them hangs or is killed", func() {
		profiles := &mounted{folder: GinkgoT().TempDir()}
		profiles.put(kinds("3", "Queue"))
		b := newBalancer()
		config := configured(profiles.folder, byService)
		one, two := start(config, b), start(config, b)
		both := func() {
			GinkgoHelper()
			Eventually(b.count).Should(Equal(2), "ready replicas")
		}
		both()
		l := newLoad(b)
		for _, r := range []*replica{one, two} { // one of them writes the registration
			l.lose(r, syscall.SIGSTOP, func() {
				Expect(r.Signal(syscall.SIGCONT)).To(Succeed(), "continuing the replica")
				both()
			})
		}
		l.lose(one, syscall.SIGKILL, func() {
			one = start(config, b)
			both()
		})
		l.lose(two, syscall.SIGKILL, func() {})
		one.end()
	})
})
