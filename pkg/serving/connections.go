// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// Connections bounds how many connections are open at all listeners of a server. When there are as many as there may be, a new one takes the place of the one
// that has waited for its caller the longest: for a handshake, a request or the rest of a body. A connection on which a request is worked on is never closed;
// where there are only such, the new one is.
type Connections struct {
	most    int
	metrics *Metrics

	// mutex guards open, stalled, and the fields of all connections.
	mutex sync.Mutex
	open  int
	// stalled are the connections that wait for their callers, the longest first.
	stalled list.List
}

// NewConnections allows as many connections as are given, and no more than leave file descriptors for what else the program opens.
func NewConnections(most int, m *Metrics) *Connections {
	return &Connections{most: min(most, descriptors()), metrics: m}
}

// reservedDescriptors are for files, health checks and clients of the program, however low the limit of the process is.
const reservedDescriptors = 40

// descriptors returns how many file descriptors connections may take: three quarters of those that the process may open.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return reservedDescriptors
	}
	cur := int(min(limit.Cur, 1<<30))
	return max(cur-max(reservedDescriptors, cur/4), 4)
}

// Listen returns a listener whose connections are bounded.
func (c *Connections) Listen(l net.Listener) net.Listener { return &listener{Listener: l, all: c} }

type listener struct {
	net.Listener
	all *Connections
}

// Accept implements net.Listener. It never leaves a caller in the kernel's queue for want of a place.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			if (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && l.all.closeStalled() {
				continue
			}
			return nil, err
		}
		if c := l.all.admit(raw); c != nil {
			return c, nil
		}
		_ = raw.Close()
	}
}

// admit returns the connection with a place of its own; nil: there is none.
func (c *Connections) admit(raw net.Conn) *connection {
	made := &connection{Conn: raw, all: c}
	c.mutex.Lock()
	var longest *connection
	if c.open >= c.most {
		if longest = c.takeStalled(); longest == nil {
			c.mutex.Unlock()
			c.metrics.refuse(refusedConnection, reasonBusy)
			return nil
		}
	}
	c.open++
	made.place = c.stalled.PushBack(made)
	c.metrics.setConnections(c.open)
	c.mutex.Unlock()
	longest.evict()
	return made
}

// closeStalled closes the connection that has waited the longest, and reports whether there was one.
func (c *Connections) closeStalled() bool {
	c.mutex.Lock()
	longest := c.takeStalled()
	c.mutex.Unlock()
	longest.evict()
	return longest != nil
}

// takeStalled takes the connection that has waited the longest out; nil: none waits. The mutex is held.
func (c *Connections) takeStalled() *connection {
	first := c.stalled.Front()
	if first == nil {
		return nil
	}
	longest := first.Value.(*connection)
	longest.leave()
	return longest
}

// connection is one that is counted.
type connection struct {
	net.Conn
	all *Connections
	// place is that among the stalled; nil while it is worked on, and when it is closed.
	place *list.Element
	// working are the requests on it that are worked on.
	working int
	gone    bool
}

// leave gives its place up. The mutex is held.
func (c *connection) leave() {
	if c.gone {
		return
	}
	c.gone = true
	c.all.open--
	c.all.metrics.setConnections(c.all.open)
	if c.place != nil {
		c.all.stalled.Remove(c.place)
		c.place = nil
	}
}

// evict closes a connection whose place another one has. It is right for nil.
func (c *connection) evict() {
	if c == nil {
		return
	}
	c.all.metrics.refuse(refusedConnection, reasonStalled)
	_ = c.Conn.Close()
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mutex.Lock()
	c.leave()
	c.all.mutex.Unlock()
	return c.Conn.Close()
}

// work keeps the connection from being closed for others until done is called. It is right for nil.
func (c *connection) work() (done func()) {
	if c == nil {
		return func() {}
	}
	c.add(1)
	return func() { c.add(-1) }
}

func (c *connection) add(requests int) {
	c.all.mutex.Lock()
	defer c.all.mutex.Unlock()
	c.working += requests
	switch {
	case c.gone:
	case c.working == 0:
		c.place = c.all.stalled.PushBack(c)
	case c.place != nil:
		c.all.stalled.Remove(c.place)
		c.place = nil
	}
}

type connectionKey struct{}

// withConnection is http.Server.ConnContext: it has requests find their connection.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request; nil: it is not bounded.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// working has the connections of requests not be closed for others while a handler answers.
func working(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer connectionOf(r.Context()).work()()
		next.ServeHTTP(w, r)
	})
}
