// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// answering is a profile with some operations for a queue.
func answering(operations ...string) string {
	rules := map[string]string{
		"replicas": `replicas: [{count: 3}]`, "health": `health: [{healthy: "${ true }"}]`,
		"status":       `status: [{keep: [ready]}]`,
		"dependencies": `dependencies: [{apiVersion: v1, kind: Secret, name: a}]`,
	}
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\n" +
		"kind: InterpreterProfile\nmetadata: {name: acme}\nkinds:\n- apiVersion: acme.com/v1\n  kind: Queue\n"
	for _, operation := range operations {
		text += "  " + rules[operation] + "\n"
	}
	return text
}

// read reads a registration. It returns false if there is none.
func read(resource schema.GroupVersionResource, into *configuration.Configuration) bool {
	GinkgoHelper()
	object, err := objects.Resource(resource).Get(context.Background(), "graft", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	Expect(err).NotTo(HaveOccurred(), "reading the registration")
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)).To(Succeed())
	return true
}

// operations returns the operations of a queue that are registered for Karmada.
func operations() []string {
	GinkgoHelper()
	c := &configuration.Configuration{}
	if !read(shippedResource, c) {
		return nil
	}
	var all []string
	for _, call := range c.Calls() {
		if call.Kind == queue.Kind {
			all = append(all, call.Operation)
		}
	}
	return all
}

// caller calls each registered operation, as a client that learns of changes a moment later.
type caller struct {
	calls  atomic.Int64
	mutex  sync.Mutex
	failed []error
}

// lag is the time until a client learns of a registration.
const lag = 300 * time.Millisecond

// newCaller calls until the end of the spec.
func newCaller() *caller {
	GinkgoHelper()
	c := &caller{}
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			defer GinkgoRecover()
			for ctx.Err() == nil {
				c.round()
			}
		})
	}
	DeferCleanup(func() {
		end()
		all.Wait()
	})
	return c
}

// round reads the registration, waits, and calls all operations in it.
func (c *caller) round() {
	registered := &configuration.Configuration{}
	if !read(shippedResource, registered) {
		return
	}
	time.Sleep(lag)
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(registered)})
	if err != nil {
		c.fail(err)
		return
	}
	for _, o := range []interpreter.Operation{
		interpreter.Replicas, interpreter.Health, interpreter.Status, interpreter.Dependencies,
	} {
		if !d.Asks(queue, question(queue, 0).Object, o) {
			continue
		}
		request := question(queue, 0)
		request.Operation = o
		for range 5 {
			if _, err := d.Interpret(context.Background(), request); err != nil {
				c.fail(fmt.Errorf("%s: %w", o, err))
			}
			c.calls.Add(1)
		}
	}
}

func (c *caller) fail(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failed = append(c.failed, err)
}

// more waits for further calls without a failure.
func (c *caller) more(count int64) {
	GinkgoHelper()
	Eventually(c.calls.Load).Should(BeNumerically(">", c.calls.Load()+count), "calls")
	c.mutex.Lock()
	defer c.mutex.Unlock()
	Expect(c.failed).To(BeEmpty(), "failed calls")
}

// change is one change of the operations of a profile.
type change struct {
	operations []string
	// first and both are the registered operations when one replica has loaded the change, and when both have.
	first, both []string
	// adds is true if the change adds operations.
	adds bool
}

var _ = Describe("the registration of operations", func() {
	// Two replicas learn of a change at different times. An operation is registered after both replicas answer it, and
	// its rules are kept as long as it is registered.
	It("follows the profiles of all replicas, so that no call fails", func() {
		b := newBalancer()
		var folders []*mounted
		var replicas []*replica
		begin := func(operations ...string) *replica {
			GinkgoHelper()
			folder := &mounted{folder: GinkgoT().TempDir()}
			folder.put(answering(operations...))
			folders = append(folders, folder)
			return start(configured(folder.folder, fmt.Sprintf(`url: "https://%s/interpret"`, b.Addr())), b)
		}
		for range 2 {
			replicas = append(replicas, begin("replicas", "health", "dependencies"))
		}
		Eventually(b.count).Should(Equal(2), "ready replicas")
		c := newCaller()
		c.more(20)
		for n, change := range []change{
			{
				operations: []string{"replicas", "health"},
				first:      []string{"InterpretReplica", "InterpretHealth"}, both: []string{"InterpretReplica", "InterpretHealth"},
			},
			{
				operations: []string{"replicas", "health", "status"}, adds: true,
				first: []string{"InterpretReplica", "InterpretHealth"},
				both:  []string{"InterpretReplica", "InterpretStatus", "InterpretHealth"},
			},
			{
				operations: []string{"replicas", "dependencies"}, adds: true,
				first: []string{"InterpretReplica"}, both: []string{"InterpretReplica", "InterpretDependency"},
			},
		} {
			first, second := folders[n%2], folders[1-n%2]
			first.put(answering(change.operations...))
			if change.adds {
				time.Sleep(3 * time.Second) // long enough for a wrong registration
			}
			Eventually(operations).Should(Equal(change.first), "registered operations when one replica has loaded change %d", n)
			c.more(40)
			second.put(answering(change.operations...))
			Eventually(operations).Should(Equal(change.both), "registered operations when both have loaded change %d", n)
			c.more(40)
		}

		By("starting a replica with fewer rules, which is ready after the registration has been narrowed")
		third := begin("replicas")
		Eventually(b.count).Should(Equal(3), "ready replicas")
		Expect(operations()).To(Equal([]string{"InterpretReplica"}), "registered operations")
		c.more(40)
		third.end()
		c.more(10)
		for _, r := range replicas {
			r.b.ready(r.address, false)
		}
	})

	It("exists in both dialects, with the current authority, until --unregister deletes it", func(ctx SpecContext) {
		b := newBalancer()
		folder := &mounted{folder: GinkgoT().TempDir()}
		folder.put(answering("replicas"))
		endpoint := fmt.Sprintf(`dialects: [shipped, proposal], url: "https://%s/interpret"`, b.Addr())
		config := configured(folder.folder, endpoint)
		r := start(config, b)
		Eventually(b.count).Should(Equal(1), "ready replicas")
		Expect(queues()).To(Equal(1), "operations of queues in the proposal's dialect")

		By("adding operations, also a Retain with only the fields of the proposal")
		folder.put(answering("replicas", "health") + "  retain: [{set: {spec.text: kept}}]\n")
		Eventually(queues).Should(Equal(3), "operations of queues in the proposal's dialect")
		Eventually(operations).Should(HaveLen(3), "registered operations for Karmada")
		for _, o := range []interpreter.Operation{interpreter.Health, interpreter.Retain} {
			Expect(propose(ctx, o)).To(Succeed(), "calling %s in the proposal's dialect", o)
		}

		By("replacing the authority")
		before := explored().Client().CABundle
		Expect(clients.CoreV1().Secrets(namespace).Delete(ctx, "interpreter", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func(g Gomega) {
			shipped := &configuration.Configuration{}
			g.Expect(read(shippedResource, shipped)).To(BeTrue())
			authority := explored().Client().CABundle
			g.Expect(authority).NotTo(Equal(before))
			g.Expect(shipped.Client().CABundle).To(Equal(authority))
		}).Should(Succeed(), "the new authority is registered in both dialects")
		Eventually(propose).WithArguments(ctx, interpreter.Health).Should(Succeed(), "calling with the new authority")

		By("deleting the registrations while the replica runs")
		Expect(strings.Count(unregister(ctx, config), "deleted ")).To(Equal(2), "deleted registrations")
		time.Sleep(4 * time.Second) // more than the period in which the registration is kept
		Expect(explored()).To(BeNil(), "the registration in the proposal's dialect")
		Expect(operations()).To(BeEmpty(), "registered operations for Karmada")
		Expect(strings.TrimSpace(unregister(ctx, config))).To(BeEmpty(), "output of a second --unregister")

		By("starting a replica again")
		r.end()
		r = start(config, b)
		Eventually(explored).ShouldNot(BeNil(), "the registration in the proposal's dialect")
		Eventually(operations).ShouldNot(BeEmpty(), "registered operations for Karmada")
		r.end()
	})
})

// explored returns the registration in the proposal's dialect, or nil.
func explored() *configuration.Configuration {
	GinkgoHelper()
	c := &configuration.Configuration{}
	if !read(exploring, c) {
		return nil
	}
	return c
}

// queues returns the number of registered operations for queues in the proposal's dialect.
func queues() (count int) {
	GinkgoHelper()
	c := explored()
	Expect(c).NotTo(BeNil(), "the registration in the proposal's dialect")
	for _, call := range c.Calls() {
		if call.Kind == "queues" {
			count++
		}
	}
	return count
}

// propose calls an operation in the proposal's dialect.
func propose(ctx context.Context, o interpreter.Operation) error {
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Explorers(explored())})
	if err != nil {
		return err
	}
	request := question(queue, 0)
	request.Operation = o
	_, err = d.Interpret(ctx, request)
	return err
}

// unregister runs the program with --unregister, and returns its output.
func unregister(ctx context.Context, config string) string {
	GinkgoHelper()
	output, err := exec.CommandContext(ctx, binary, "--config="+config, "--unregister").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "--unregister printed:\n%s", output)
	return string(output)
}
