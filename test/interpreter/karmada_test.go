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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// balancer forwards connections to replicas that are ready, as a Service does.
type balancer struct {
	net.Listener
	mutex   sync.Mutex
	targets map[string]bool
	// open are the connections to each replica, and handed the number of all connections so far.
	open, handed map[string]int
}

func newBalancer() *balancer {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred(), "listening")
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
	DeferCleanup(listener.Close)
	return b
}

// ready adds or removes a replica.
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
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

// registered is the registration that Karmada reads.
func registered() (*unstructured.Unstructured, error) {
	return objects.Resource(shippedResource).Get(context.Background(), "graft", metav1.GetOptions{})
}

// karmada follows the registration, and calls the registered webhook steadily.
type karmada struct {
	current atomic.Pointer[known]
	version string
	calls   atomic.Int64
	ending  chan struct{}
	end     sync.Once
	all     sync.WaitGroup
}

// known is the webhook configuration that Karmada uses.
type known struct {
	dispatcher *dispatch.Dispatcher
	address    string
	trusted    *tls.Config
}

// pause is the time between the calls of a client, which would otherwise take the CPU that the replicas need.
const pause = 5 * time.Millisecond

// newKarmada waits for a registration, and calls by it until the end of the spec.
func newKarmada() *karmada {
	GinkgoHelper()
	k := &karmada{ending: make(chan struct{})}
	DeferCleanup(func() { k.stop() })
	Eventually(func() *known {
		k.follow()
		return k.current.Load()
	}).ShouldNot(BeNil(), "a registration for Karmada")
	k.all.Go(func() {
		defer GinkgoRecover()
		k.until(func() {
			k.follow()
			time.Sleep(20 * time.Millisecond)
		})
	})
	for range 3 {
		k.all.Go(func() {
			defer k.close()
			defer GinkgoRecover()
			k.until(func() {
				if err := k.ask(); !k.ended() {
					Expect(err).NotTo(HaveOccurred(), "calling by the registration")
				}
				k.calls.Add(1)
				time.Sleep(pause)
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

// follow adopts the registration, like an informer.
func (k *karmada) follow() {
	object, err := registered()
	if err != nil || object.GetResourceVersion() == k.version {
		return
	}
	c := &configuration.Configuration{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, c)).To(Succeed())
	Expect(configuration.ValidateClient(&c.Webhooks[0].ClientConfig, nil)).To(BeEmpty(), "errors of the registration")
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Interpreters(c)})
	Expect(err).NotTo(HaveOccurred(), "reading the registration")
	address := strings.TrimSuffix(strings.TrimPrefix(*c.Webhooks[0].ClientConfig.URL, "https://"), "/interpret")
	at := &known{d, address, &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}}
	at.trusted.RootCAs.AppendCertsFromPEM(c.Webhooks[0].ClientConfig.CABundle)
	k.version = object.GetResourceVersion()
	k.current.Store(at)
}

var queue = interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}

// ask asks about a queue. The client keeps its connections, and opens an additional one.
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

// question returns a request for the replicas of an object with a text of some length.
func question(kind interpreter.Kind, length int) interpreter.Request {
	const text = `{"apiVersion":%q,"kind":%q,"metadata":{"name":"q","namespace":"n"},"spec":{"text":"%0*d"}}`
	object := fmt.Sprintf(text, kind.Group+"/"+kind.Version, kind.Kind, max(length, 1), 0)
	return interpreter.Request{Operation: interpreter.Replicas, Kind: kind, Object: json.RawMessage(object)}
}

// more waits until more calls than a number have been answered.
func (k *karmada) more(number int64) {
	GinkgoHelper()
	Eventually(k.calls.Load).WithPolling(pause).Should(BeNumerically(">", k.calls.Load()+number), "answered calls")
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

// stop ends all calls, and checks that none has failed.
func (k *karmada) stop() int64 {
	k.close()
	k.all.Wait()
	return k.calls.Load()
}
