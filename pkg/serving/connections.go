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

// Connections limits the open connections of all listeners of a server. At the limit, a new connection replaces
// the connection that has waited longest for its client: for a handshake, a request, or the rest of a body. A
// connection with a request in progress is never closed; if there are only such, the new connection is closed.
type Connections struct {
	most    int
	metrics *Metrics

	// mutex guards open, stalled, and the fields of all connections.
	mutex sync.Mutex
	open  int
	// stalled lists the connections that wait for their clients, the longest wait first.
	stalled list.List
}

// NewConnections allows most connections, but leaves enough file descriptors for the rest of the program.
func NewConnections(most int, m *Metrics) *Connections {
	return &Connections{most: min(most, descriptors()), metrics: m}
}

// reservedDescriptors is the minimum number of file descriptors for files, health checks and clients of the
// program.
const reservedDescriptors = 40

// descriptors returns the number of file descriptors that connections may use: three quarters of the process's
// limit.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return reservedDescriptors
	}
	cur := int(min(limit.Cur, 1<<30))
	return max(cur-max(reservedDescriptors, cur/4), 4)
}

// Listen returns a listener with limited connections.
func (c *Connections) Listen(l net.Listener) net.Listener { return &listener{Listener: l, all: c} }

type listener struct {
	net.Listener
	all *Connections
}

// Accept implements net.Listener. At the limit it closes a connection instead of leaving the client in the
// kernel's queue.
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

// admit registers a connection, or returns nil if there is no room.
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

// closeStalled closes the connection that has waited longest. It reports whether there was one.
func (c *Connections) closeStalled() bool {
	c.mutex.Lock()
	longest := c.takeStalled()
	c.mutex.Unlock()
	longest.evict()
	return longest != nil
}

// takeStalled removes and returns the connection that has waited longest, or nil. The caller holds the mutex.
func (c *Connections) takeStalled() *connection {
	first := c.stalled.Front()
	if first == nil {
		return nil
	}
	longest := first.Value.(*connection)
	longest.leave()
	return longest
}

// connection is a counted connection.
type connection struct {
	net.Conn
	all *Connections
	// place is the position in stalled. It is nil while a request is in progress, and after Close.
	place *list.Element
	// working counts the requests in progress.
	working int
	gone    bool
	kept    kept
}

// leave unregisters the connection. The caller holds the mutex.
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

// evict closes a connection that was replaced. It accepts nil.
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

// work protects the connection from replacement until done is called. It accepts nil.
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

// withConnection is a http.Server.ConnContext that stores the connection for connectionOf.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request, or nil if it is not limited.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// working protects connections from replacement while next handles a request.
func working(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer connectionOf(r.Context()).work()()
		next.ServeHTTP(w, r)
	})
}
