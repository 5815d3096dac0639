// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
)

// Limits bound what callers of a server can take of it.
type Limits struct {
	// Connections are how many are open at a time, at all listeners together.
	Connections int
	// Streams are how many requests one connection of HTTP/2 may have open at a time; clients open another one for more.
	Streams int
	// Requests are how many are worked on at a time, Waiting how many more may arrive or wait; what is beyond is refused at once.
	Requests, Waiting int
	// Behind is for how many requests work may go on that have been answered, or whose callers have left, and still count as worked on.
	Behind int
	// BodyBytes bounds one body, BodiesBytes the bodies of all requests, by what has arrived of them. It is four times BodyBytes at least.
	BodyBytes, BodiesBytes int64
	// Patience is how long a request waits for its turn, and is worked on; 0: it is refused at once where it would wait, and worked on without end.
	Patience time.Duration
	// BodyTimeout is how long a body may take to arrive.
	BodyTimeout time.Duration
}

const (
	// WriteTimeout is how long an answer may take to be taken, after it should be there.
	WriteTimeout = 15 * time.Second
	// BodyTimeout is how long a body may take to arrive, where nothing else is said.
	BodyTimeout = 15 * time.Second
	// streamBuffer is what is taken of bodies that nobody reads, for each connection of HTTP/2, in bytes.
	streamBuffer = 256 << 10
)

// Guard bounds what callers take of a server, all of its listeners together: connections, streams, requests, and bytes. A request is worked on when its body is
// there, so that callers that send none take nobody's turn. Where room is short, those are ended first that wait for their callers the longest.
type Guard struct {
	limits      Limits
	connections *Connections
	metrics     *Metrics
	places      *semaphore.Weighted

	// mutex guards what follows, and that of all received bodies.
	mutex sync.Mutex
	// here are the requests that arrive, wait, or are worked on, and behind those that go on without a caller.
	here, behind int
	bytes        int64
	// arriving are the bodies that arrive, the earliest first.
	arriving list.List
	// changed is closed when there is more room.
	changed chan struct{}
}

// NewGuard makes a guard; its metrics may be nil.
func NewGuard(l Limits, m *Metrics) *Guard {
	l.BodiesBytes = max(l.BodiesBytes, 4*l.BodyBytes)
	return &Guard{
		limits: l, connections: NewConnections(l.Connections, m), metrics: m, places: semaphore.NewWeighted(int64(l.Requests)),
		changed: make(chan struct{}),
	}
}

// Listen returns a listener whose connections are bounded; Server must serve it.
func (g *Guard) Listen(l net.Listener) net.Listener { return g.connections.Listen(l) }

// Server returns a server within the limits. The deadline of a request's head is that of a TLS handshake, too.
func (g *Guard) Server(handler http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ErrorLog: ErrorLog(log), ConnContext: withConnection,
		// Bodies and answers have deadlines of their own.
		ReadHeaderTimeout: HeadTimeout, IdleTimeout: IdleTimeout, MaxHeaderBytes: MaximumHead,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: g.limits.Streams, MaxReceiveBufferPerConnection: streamBuffer, MaxReceiveBufferPerStream: streamBuffer / 2,
		},
	}
}

// Serve calls next when the body of the request is there, or failed to come, and it is its turn; it takes most bytes of the body at most, and one more. The
// context ends with the request's, and holds what the request takes: see Hold. It returns ErrBusy where next was not called.
func (g *Guard) Serve(w http.ResponseWriter, r *http.Request, most int64, next func(context.Context, http.ResponseWriter, *http.Request)) error {
	b, err := g.enter(w, r)
	if err != nil {
		CloseAfter(w, r)
		return err
	}
	err = b.receive(r.ContentLength, most)
	g.arrived(b)
	defer connectionOf(r.Context()).work()()
	if !b.whole() {
		lastAnswer(w, r)
	}
	ctx, end := r.Context(), func() {}
	if err == nil {
		ctx, end, err = g.turn(r, b)
	}
	if err != nil {
		g.leave(b, false)
		return err
	}
	defer end()
	ctx, release := WithHold(ctx, func() { g.leave(b, true); b.recycle() })
	defer g.depart(b, release)
	if g.limits.Patience > 0 {
		_ = b.control.SetWriteDeadline(time.Now().Add(g.limits.Patience + WriteTimeout))
	}
	r.Body = b
	next(ctx, w, r)
	b.done = true
	return nil
}

// lastAnswer has net/http send the answer to a request at once and close the connection, in place of waiting for what is left of the body.
func lastAnswer(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody {
		w.Header().Set("Connection", "close")
	}
}

// CloseAfter prepares the answer to a request that is refused before its body is read: it is the last on its connection, and what the caller still sends is
// read for a second at most.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	lastAnswer(w, r)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
}

// Free calls next at once, for requests that cost nothing to speak of, or that are bounded elsewhere.
func (g *Guard) Free(w http.ResponseWriter, r *http.Request, next func(http.ResponseWriter, *http.Request)) {
	defer connectionOf(r.Context()).work()()
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.limits.BodyTimeout))
	}
	next(w, r)
}

// enter lets a request in. Where there are as many as there may be, the body that arrives the longest is ended for it.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request) (*received, error) {
	now := time.Now()
	b := &received{
		ReadCloser: r.Body, guard: g, control: http.NewResponseController(w), began: now, markedAt: now, ended: make(chan struct{}),
	}
	if b.ReadCloser == nil {
		b.ReadCloser = http.NoBody
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.here >= g.limits.Requests+g.limits.Waiting {
		first := g.arriving.Front()
		if first == nil {
			g.metrics.refuse(refusedRequest, reasonBusy)
			return nil, ErrBusy
		}
		g.end(first.Value.(*received))
	}
	g.here++
	if b.ReadCloser != http.NoBody {
		_ = b.control.SetReadDeadline(now.Add(g.limits.BodyTimeout)) // who cannot has no connection to be held up by
		b.place = g.arriving.PushBack(b)
	}
	return b, nil
}

// turn waits until it is the turn of a request, and returns the context for its work: where it has waited, that ends when its caller leaves.
func (g *Guard) turn(r *http.Request, b *received) (ctx context.Context, end func(), err error) {
	if g.places.TryAcquire(1) {
		return r.Context(), func() {}, nil
	}
	if g.limits.Patience > 0 {
		patience := g.limits.Patience
		if said := Timeout(r); said > 0 {
			patience = min(patience, said)
		}
		limited := EndAt(r.Context(), b.began.Add(patience))
		if g.places.Acquire(limited, 1) == nil {
			return limited, limited.End, nil
		}
		limited.End()
	}
	g.metrics.refuse(refusedRequest, reasonBusy)
	return nil, nil, ErrBusy
}

// arrived notes that nothing of a body is waited for any more.
func (g *Guard) arrived(b *received) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if b.place != nil {
		g.arriving.Remove(b.place)
		b.place = nil
		g.notify() // another one may be the first now
	}
}

// depart is called when the caller has its answer. Work that goes on keeps what the request takes, unless too much does.
func (g *Guard) depart(b *received, release func()) {
	if !b.done {
		b.buffer = new([]byte) // what panicked may have left it to others
	}
	g.mutex.Lock()
	if b.behind = g.behind < g.limits.Behind; b.behind {
		g.behind++
	}
	g.mutex.Unlock()
	if !b.behind {
		g.leave(b, true)
	}
	release()
}

// leave gives back what a request takes, and the place that it was worked on in, if it had one. Calling it again does nothing.
func (g *Guard) leave(b *received, placed bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if b.gone {
		return
	}
	b.gone = true
	if !b.displaced {
		g.here--
	}
	if b.behind {
		g.behind--
	}
	if placed {
		g.places.Release(1)
	}
	g.bytes -= b.counted
	g.metrics.addBytes(-b.counted)
	g.notify()
}

// notify wakes those that wait for room. The mutex is held.
func (g *Guard) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// take counts bytes of a body that have arrived. It waits for room; the error is ErrBusy where there was none, and os.ErrDeadlineExceeded where the body was
// ended for another one.
func (g *Guard) take(b *received, n int64) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for !g.fits(b, n) {
		b.waits = true
		g.endStalled()
		changed := g.changed
		g.mutex.Unlock()
		left := time.NewTimer(min(stallTime, time.Until(b.began.Add(g.limits.BodyTimeout))))
		select {
		case <-changed:
		case <-left.C:
		case <-b.ended:
		}
		left.Stop()
		g.mutex.Lock()
		if time.Since(b.began) >= g.limits.BodyTimeout {
			g.metrics.refuse(refusedBody, reasonBusy)
			return ErrBusy
		}
	}
	b.waits = false
	if b.displaced {
		return os.ErrDeadlineExceeded
	}
	b.counted += n
	g.bytes += n
	g.metrics.addBytes(n)
	return nil
}

// fits reports whether there is room for more of a body. Half of all room is for any; the rest is for what is small, and for the earliest of the large ones,
// so that one after the other comes to its end. The mutex is held.
func (g *Guard) fits(b *received, n int64) bool {
	switch {
	case b.displaced || n == 0:
		return true
	case g.bytes+n > g.limits.BodiesBytes:
		return false
	case b.counted+n <= smallBody || g.bytes+n <= g.limits.BodiesBytes/2:
		return true
	}
	for e := g.arriving.Front(); e != nil; e = e.Next() {
		if other := e.Value.(*received); other == b || other.waits || other.counted > smallBody {
			return other == b
		}
	}
	return true
}

// endStalled ends bodies that bring next to nothing while others wait. The mutex is held.
func (g *Guard) endStalled() {
	now := time.Now()
	for e := g.arriving.Front(); e != nil; {
		b := e.Value.(*received)
		e = e.Next()
		switch {
		case b.waits:
			b.marked, b.markedAt = b.counted, now
		case now.Sub(b.markedAt) < stallTime:
		case b.counted-b.marked < smallBody:
			g.end(b)
		default:
			b.marked, b.markedAt = b.counted, now
		}
	}
}

// end has nobody wait for a body any more, and lets another request take its place. The mutex is held.
func (g *Guard) end(b *received) {
	g.arriving.Remove(b.place)
	b.place, b.displaced = nil, true
	g.here--
	g.metrics.refuse(refusedBody, reasonStalled)
	close(b.ended)
	_ = b.control.SetReadDeadline(time.Now().Add(-time.Second))
}
