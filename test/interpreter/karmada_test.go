// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// balancer hands connections on to replicas that are ready, as a Service does.
type balancer struct {
	net.Listener
	mutex   sync.Mutex
	targets map[string]bool
	// open are the connections to each replica, and handed all that there have been.
	open, handed map[string]int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{Listener: listener, targets: map[string]bool{}, open: map[string]int{}, handed: map[string]int{}}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go b.hand(from)
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return b
}

// ready says whether a replica is.
func (b *balancer) ready(address string, is bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if is {
		b.targets[address] = true
	} else {
		delete(b.targets, address)
	}
}

func (b *balancer) hand(from net.Conn) {
	defer from.Close()
	b.mutex.Lock()
	var all []string
	for target := range b.targets {
		all = append(all, target)
	}
	if len(all) == 0 {
		b.mutex.Unlock()
		return
	}
	target := all[rand.IntN(len(all))]
	b.open[target]++
	b.handed[target]++
	b.mutex.Unlock()
	defer func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.open[target]--
	}()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, from); _ = to.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(from, to)
}

// registered is what is there for Karmada.
func registered() (*unstructured.Unstructured, error) {
	return objects.Resource(registration.Resource).Get(context.Background(), "graft", metav1.GetOptions{})
}

// karmada follows the registration, and asks steadily as it says.
type karmada struct {
	t       *testing.T
	current atomic.Pointer[known]
	version string
	calls   atomic.Int64
	ending  chan struct{}
	end     sync.Once
	all     sync.WaitGroup
}

// known is what Karmada knows of the webhook.
type known struct {
	dispatcher *dispatch.Dispatcher
	address    string
	trusted    *tls.Config
}

// newKarmada begins to follow and to ask, when there is something registered.
func newKarmada(t *testing.T) *karmada {
	t.Helper()
	k := &karmada{t: t, ending: make(chan struct{})}
	t.Cleanup(func() { k.stop() })
	eventually(t, "something is registered", func() bool { k.follow(); return k.current.Load() != nil })
	k.all.Go(func() {
		k.until(func() { k.follow(); time.Sleep(20 * time.Millisecond) })
	})
	for range 3 {
		k.all.Go(func() {
			k.until(func() {
				if err := k.ask(); err != nil && !k.ended() {
					t.Error(err)
					k.close()
				}
				k.calls.Add(1)
			})
		})
	}
	return k
}

func (k *karmada) until(do func()) {
	for !k.ended() {
		do()
	}
}

// follow takes over what is registered, as an informer does.
func (k *karmada) follow() {
	object, err := registered()
	if err != nil || object.GetResourceVersion() == k.version {
		return
	}
	c := &configuration.Configuration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, c); err != nil {
		k.t.Error(err)
		return
	}
	if errs := configuration.ValidateClient(&c.Webhooks[0].ClientConfig, nil); len(errs) > 0 {
		k.t.Error(errs.ToAggregate())
		return
	}
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(c)})
	if err != nil {
		k.t.Error(err)
		return
	}
	at := &known{d, strings.TrimSuffix(strings.TrimPrefix(*c.Webhooks[0].ClientConfig.URL, "https://"), "/interpret"), &tls.Config{
		RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12,
	}}
	at.trusted.RootCAs.AppendCertsFromPEM(c.Webhooks[0].ClientConfig.CABundle)
	k.version = object.GetResourceVersion()
	k.current.Store(at)
}

var queue = interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}

// ask asks about a queue. The client keeps its connections: beside it, another one is opened.
func (k *karmada) ask() error {
	at := k.current.Load()
	connection, err := tls.Dial("tcp", at.address, at.trusted)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	_ = connection.Close()
	a, err := at.dispatcher.Interpret(context.Background(), question(queue, 0))
	switch {
	case err != nil:
		return err
	case a.Replicas == nil || *a.Replicas < 3:
		return errors.New("there are no replicas in the answer")
	}
	return nil
}

// question asks for the replicas of an object with a text of some length.
func question(kind interpreter.Kind, length int) interpreter.Request {
	object := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"q","namespace":"n"},"spec":{"text":"%0*d"}}`,
		kind.Group+"/"+kind.Version, kind.Kind, max(length, 1), 0)
	return interpreter.Request{Operation: interpreter.Replicas, Kind: kind, Object: json.RawMessage(object)}
}

// more waits for more calls.
func (k *karmada) more() {
	k.t.Helper()
	before := k.calls.Load()
	eventually(k.t, "calls go on", func() bool { return k.calls.Load() > before+10 || k.t.Failed() })
}

func (k *karmada) close() { k.end.Do(func() { close(k.ending) }) }

func (k *karmada) ended() bool {
	select {
	case <-k.ending:
		return true
	default:
		return false
	}
}

// stop ends all calls, none of which has failed.
func (k *karmada) stop() int64 {
	k.close()
	k.all.Wait()
	return k.calls.Load()
}

func eventually(t *testing.T, about string, right func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !right(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not come", about)
		}
	}
}

// alone leaves nothing behind for the next test.
func alone(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		err := objects.Resource(registration.Resource).Delete(context.Background(), "graft", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		err = clients.CoreV1().Secrets(namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}
