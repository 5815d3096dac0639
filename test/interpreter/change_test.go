// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// answering is a profile by which a queue has some operations.
func answering(operations ...string) string {
	rules := map[string]string{
		"replicas": `replicas: [{count: 3}]`, "health": `health: [{healthy: "${ true }"}]`, "status": `status: [{keep: [ready]}]`,
		"dependencies": `dependencies: [{apiVersion: v1, kind: Secret, name: a}]`,
	}
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\nmetadata: {name: acme}\nkinds:\n" +
		"- apiVersion: acme.com/v1\n  kind: Queue\n"
	for _, operation := range operations {
		text += "  " + rules[operation] + "\n"
	}
	return text
}

// read returns a registration; nil where there is none.
func read(t *testing.T, resource schema.GroupVersionResource, into *configuration.Configuration) *configuration.Configuration {
	t.Helper()
	object, err := objects.Resource(resource).Get(context.Background(), "graft", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// operations are those of a queue that are registered for Karmada.
func operations(t *testing.T) []string {
	t.Helper()
	c := read(t, registration.Resource, &configuration.Configuration{})
	if c == nil {
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

// caller calls each operation that it knows to be registered, as a client does that learns of changes a moment later.
type caller struct {
	t      *testing.T
	calls  atomic.Int64
	mutex  sync.Mutex
	failed []error
}

// lag is how late a client learns of a registration.
const lag = 300 * time.Millisecond

// newCaller calls until the test ends.
func newCaller(t *testing.T) *caller {
	t.Helper()
	c := &caller{t: t}
	ended := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					c.round()
				}
			}
		})
	}
	t.Cleanup(func() { close(ended); all.Wait() })
	return c
}

// round reads the registration, waits, and calls all operations in it.
func (c *caller) round() {
	registered := &configuration.Configuration{}
	if read(c.t, registration.Resource, registered) == nil {
		return
	}
	time.Sleep(lag)
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(registered)})
	if err != nil {
		c.fail(err)
		return
	}
	for _, o := range []interpreter.Operation{interpreter.Replicas, interpreter.Health, interpreter.Status, interpreter.Dependencies} {
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

// more waits for more calls, of which none fails.
func (c *caller) more(count int64) {
	c.t.Helper()
	before := c.calls.Load()
	eventually(c.t, "calls go on", func() bool { return c.calls.Load() > before+count })
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.failed) > 0 {
		c.t.Fatalf("%d calls failed: %v", len(c.failed), errors.Join(c.failed[:min(3, len(c.failed))]...))
	}
}

// TestChangingOperations changes the operations of a profile, which two replicas load at different times. No call
// fails: an operation is not registered before both replicas answer it, and no rules are dropped while it is
// registered.
func TestChangingOperations(t *testing.T) {
	alone(t)
	b := newBalancer(t)
	var folders []*mounted
	var replicas []*replica
	for range 2 {
		folder := &mounted{t: t, folder: t.TempDir()}
		folder.put(answering("replicas", "health", "dependencies"))
		folders = append(folders, folder)
		replicas = append(replicas, start(t, configured(t, folder.folder, fmt.Sprintf(`url: "https://%s/interpret"`, b.Addr())), b))
	}
	eventually(t, "both are ready", func() bool { return b.count() == 2 })
	c := newCaller(t)
	c.more(20)
	for n, change := range []struct {
		operations    []string
		before, after string // what is registered when one replica knows, and when both do
		adds          bool
	}{
		{[]string{"replicas", "health"}, "InterpretReplica InterpretHealth", "InterpretReplica InterpretHealth", false},
		{[]string{"replicas", "health", "status"}, "InterpretReplica InterpretHealth", "InterpretReplica InterpretStatus InterpretHealth", true},
		{[]string{"replicas", "dependencies"}, "InterpretReplica", "InterpretReplica InterpretDependency", true},
	} {
		first, second := folders[n%2], folders[1-n%2]
		first.put(answering(change.operations...))
		if change.adds {
			time.Sleep(3 * time.Second) // what must not happen takes time
		}
		eventually(t, "what both answer is registered: "+change.before, func() bool { return strings.Join(operations(t), " ") == change.before })
		c.more(40)
		second.put(answering(change.operations...))
		eventually(t, "all is registered: "+change.after, func() bool { return strings.Join(operations(t), " ") == change.after })
		c.more(40)
	}
	// A replica that begins with fewer rules is not ready before the registration is narrow enough.
	folder := &mounted{t: t, folder: t.TempDir()}
	folder.put(answering("replicas"))
	third := start(t, configured(t, folder.folder, fmt.Sprintf(`url: "https://%s/interpret"`, b.Addr())), b)
	eventually(t, "the third is ready", func() bool { return b.count() == 3 })
	if got := operations(t); !slices.Equal(got, []string{"InterpretReplica"}) {
		t.Errorf("registered is %v", got)
	}
	c.more(40)
	third.end()
	c.more(10)
	for _, r := range replicas {
		r.b.ready(r.address, false)
	}
}

// TestBothDialects checks that the configurations of both dialects are written, follow the profiles, and get a new CA;
// that a call in the proposal's dialect is answered, also a Retain with only its fields; and that --unregister deletes
// both without a replica writing them again.
func TestBothDialects(t *testing.T) {
	alone(t)
	t.Cleanup(func() {
		err := objects.Resource(exploring).Delete(context.Background(), "graft", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	b := newBalancer(t)
	folder := &mounted{t: t, folder: t.TempDir()}
	folder.put(answering("replicas"))
	config := configured(t, folder.folder, fmt.Sprintf(`dialects: [shipped, proposal], url: "https://%s/interpret"`, b.Addr()))
	r := start(t, config, b)
	eventually(t, "it is ready", func() bool { return b.count() == 1 })
	explored := func() *configuration.Configuration {
		c := &configuration.Configuration{}
		if read(t, exploring, c) == nil {
			return nil
		}
		return c
	}
	ask := func(o interpreter.Operation) error {
		d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Explorers(explored())})
		if err != nil {
			return err
		}
		request := question(queue, 0)
		request.Operation = o
		_, err = d.Interpret(t.Context(), request)
		return err
	}
	count := func() (calls int) {
		for _, call := range explored().Calls() {
			if call.Kind == "queues" {
				calls++
			}
		}
		return calls
	}
	if explored() == nil || count() != 1 {
		t.Fatalf("registered is %+v", explored())
	}
	folder.put(answering("replicas", "health") + "  retain: [{set: {spec.text: kept}}]\n")
	eventually(t, "the new operations are registered", func() bool { return count() == 3 && len(operations(t)) == 3 })
	for _, o := range []interpreter.Operation{interpreter.Health, interpreter.Retain} {
		if err := ask(o); err != nil {
			t.Errorf("%s in the proposal's dialect: %v", o, err)
		}
	}
	authority := func() []byte { return explored().Client().CABundle }
	before := authority()
	if err := clients.CoreV1().Secrets(namespace).Delete(t.Context(), "interpreter", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new authority is registered in both dialects", func() bool {
		shipped := read(t, registration.Resource, &configuration.Configuration{})
		return !bytes.Equal(authority(), before) && bytes.Equal(authority(), shipped.Client().CABundle)
	})
	eventually(t, "a call trusts the new authority", func() bool { return ask(interpreter.Health) == nil })

	out, err := exec.CommandContext(t.Context(), binary, "--config="+config, "--unregister").CombinedOutput()
	if err != nil || strings.Count(string(out), "deleted ") != 2 {
		t.Fatalf("--unregister: %v\n%s", err, out)
	}
	time.Sleep(4 * time.Second) // more than the period in which the registration is kept
	if explored() != nil || operations(t) != nil {
		t.Error("a replica that still runs has written the registration again")
	}
	if out, err := exec.CommandContext(t.Context(), binary, "--config="+config, "--unregister").CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("--unregister again: %v\n%s", err, out)
	}
	r.end()
	r = start(t, config, b)
	eventually(t, "a replica that starts registers again", func() bool { return explored() != nil && operations(t) != nil })
	r.end()
}
