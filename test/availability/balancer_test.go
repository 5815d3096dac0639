// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The readiness probe equals that of the chart, with a shorter period. The period decides how long new connections
// reach a hanging replica, but not how many calls are lost on existing connections.
const (
	probePeriod  = 250 * time.Millisecond
	probeTimeout = 2 * time.Second
)

// balancer forwards connections to replicas that are ready, as a Service does. An open connection stays with its
// replica.
type balancer struct {
	listener net.Listener
	lock     sync.Mutex
	targets  map[string]*endpoint
	refused  []error // connections that it closed because no replica was ready
}

// endpoint is the balancer's state of a replica.
type endpoint struct {
	address string
	unready error // nil: it is ready
	open    int   // connections
	asking  int   // those of them on which an answer is awaited
	marked  marked
}

// marked is the state of a replica at a mark, and its output since then.
type marked struct{ asking, idle, opened int }

// most is how many calls can be lost: one for each connection.
func (m marked) most() int { return m.asking + m.idle + m.opened }

// link is a connection to a replica.
type link struct {
	b      *balancer
	e      *endpoint
	asking bool
	ended  bool
}

// asks reports that something has come from the caller, or from the replica.
func (l *link) asks(asking bool) {
	l.b.lock.Lock()
	defer l.b.lock.Unlock()
	if asking != l.asking && !l.ended {
		if l.asking = asking; asking {
			l.e.asking++
		} else {
			l.e.asking--
		}
	}
}

// telling is a writer that reports its input.
type telling struct {
	io.Writer
	tell func()
}

func (w telling) Write(p []byte) (int, error) {
	w.tell()
	return w.Writer.Write(p)
}

func newBalancer() *balancer {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred(), "listening")
	b := &balancer{listener: listener, targets: map[string]*endpoint{}}
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

func (b *balancer) port() string {
	_, port, _ := net.SplitHostPort(b.listener.Addr().String())
	return port
}

// hand copies both ways until the replica closes the connection.
func (b *balancer) hand(from net.Conn) {
	defer func() { _ = from.Close() }()
	e := b.choose()
	if e == nil {
		return
	}
	l := &link{b: b, e: e}
	defer l.end()
	to, err := net.Dial("tcp", e.address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() {
		_, _ = io.Copy(telling{to, func() { l.asks(true) }}, from)
		// The replica's last answers may still be on their way.
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(telling{from, func() { l.asks(false) }}, to)
}

// choose takes the replica with the fewest connections, so that each has some.
func (b *balancer) choose() *endpoint {
	b.lock.Lock()
	defer b.lock.Unlock()
	var e *endpoint
	for _, other := range b.targets {
		if other.unready == nil && (e == nil || other.open < e.open) {
			e = other
		}
	}
	if e == nil {
		b.refused = append(b.refused, b.reasons())
		return nil
	}
	e.open++
	e.marked.opened++
	return e
}

// reasons says why no replica is ready. The caller holds the lock.
func (b *balancer) reasons() error {
	reasons := []error{errors.New("no replica was ready for a new connection")}
	for address, e := range b.targets {
		reasons = append(reasons, fmt.Errorf("%s: %w", address, e.unready))
	}
	return errors.Join(reasons...)
}

// refusals returns why connections were closed since the last call.
func (b *balancer) refusals() []error {
	b.lock.Lock()
	defer b.lock.Unlock()
	refused := b.refused
	b.refused = nil
	return refused
}

// end reports that the connection is closed.
func (l *link) end() {
	l.asks(false)
	l.b.lock.Lock()
	defer l.b.lock.Unlock()
	l.ended = true
	l.e.open--
}

// follow checks the readiness of a replica, as the kubelet does, until the context ends.
func (b *balancer) follow(ctx context.Context, address, health string) {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		b.set(address, probe(client, "http://"+health+"/readyz?verbose"))
		select {
		case <-ctx.Done():
		case <-time.After(probePeriod):
		}
	}
	b.set(address, errors.New("it has ended"))
}

// probe returns why a replica is not ready.
func probe(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	return errors.Join(fmt.Errorf("%s: %s", response.Status, body), err)
}

func (b *balancer) set(address string, unready error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.targets[address] == nil {
		b.targets[address] = &endpoint{address: address}
	}
	b.targets[address].unready = unready
}

func (b *balancer) isReady(address string) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.targets[address] != nil && b.targets[address].unready == nil
}

// mark begins to count the connections that lead to a replica.
func (b *balancer) mark(address string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	e := b.targets[address]
	e.marked = marked{asking: e.asking, idle: e.open - e.asking}
}

func (b *balancer) marked(address string) marked {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.targets[address].marked
}
