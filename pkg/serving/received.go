// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"container/list"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ErrBusy means that a request was rejected because of overload.
var ErrBusy = errors.New("the server is busy; try again")

const (
	// smallBody is the number of bytes of a body that arrive without waiting for larger bodies.
	smallBody = 64 << 10
	// pooledBody is the largest buffer that is reused, in bytes.
	pooledBody = 1 << 20
	// stallTime is the time within which a body must send smallBody bytes if other bodies wait.
	stallTime = time.Second
)

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// received is a request's body, with the resources that it holds in a Guard.
type received struct {
	io.ReadCloser // the rest, from the connection
	guard         *Guard
	control       *http.ResponseController
	began         time.Time
	announced     int64 // the length in bytes, or -1 if the client sends none

	// buffer has the received bytes, of which read bytes were read. err is the reason why no more follow;
	// io.EOF if the body is complete.
	buffer *[]byte
	read   int
	err    error
	// done is true after the handler returned without a panic.
	done bool

	// The guard's mutex guards the fields below. place is the position in arriving, or nil if the body has
	// arrived or was ended.
	place *list.Element
	// counted is the number of counted bytes, marked the number at markedAt.
	counted, marked int64
	markedAt        time.Time
	// waits is true while the body waits for buffer space instead of its client. displaced is true if another request
	// has its place, behind if its work continues without a client, and gone after its resources were released.
	waits, displaced, behind, gone bool
	// ended is closed when the body is displaced.
	ended chan struct{}
}

// Read implements io.Reader, for handlers that do not use ReadAll.
func (b *received) Read(into []byte) (int, error) {
	if held := (*b.buffer)[b.read:]; len(held) > 0 {
		n := copy(into, held)
		b.read += n
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(into)
}

// recycle returns the buffer to the pool unless it is large.
func (b *received) recycle() {
	if cap(*b.buffer) <= pooledBody {
		buffers.Put(b.buffer)
	}
}

// whole reports whether the complete body has arrived.
func (b *received) whole() bool { return errors.Is(b.err, io.EOF) }

// receive reads the body as it arrives. It allocates memory for received bytes, not for the announced length.
// It stops after an error, the complete body, or more than most bytes, and returns ErrBusy if there was no
// room, or if the body was ended in favor of another.
func (b *received) receive(announced, most int64) error {
	b.buffer = buffers.Get().(*[]byte)
	if b.ReadCloser == http.NoBody {
		*b.buffer, b.err = (*b.buffer)[:0], io.EOF
		return nil
	}
	body := (*b.buffer)[:0]
	defer func() { *b.buffer = body }()
	for int64(len(body)) <= most {
		body = grow(body, announced, most)
		n, err := b.ReadCloser.Read(body[len(body):min(cap(body), len(body)+smallBody)])
		if b.err = b.guard.take(b, int64(n)); b.err != nil {
			return b.err
		}
		if body = body[:len(body)+n]; err != nil {
			b.err = err
			return nil
		}
	}
	return nil
}

// grow returns a body with more capacity: twice the received bytes, up to the announced or allowed length.
func grow(body []byte, announced, most int64) []byte {
	if len(body) < cap(body) {
		return body
	}
	end := most + 1
	if announced >= 0 {
		end = min(end, announced+1) // one more byte, to detect the end without another step
	}
	want := min(max(2*int64(cap(body)), bytes.MinRead), end)
	if want <= int64(len(body)) {
		want = int64(len(body)) + bytes.MinRead
	}
	return slices.Grow(body, int(want)-len(body))
}

// ReadAll returns the body of a request, but at most one byte more than most. A body that a Guard received
// completely is returned without a copy; any other grows as it arrives. The bytes read are returned also with
// an error.
func ReadAll(r *http.Request, most int64) ([]byte, error) {
	if b, ok := r.Body.(*received); ok && b.read == 0 && (b.err != nil || int64(len(*b.buffer)) > most) {
		body := *b.buffer
		b.read = len(body)
		if errors.Is(b.err, io.EOF) {
			return body, nil
		}
		return body, b.err
	}
	in := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0)+bytes.MinRead, smallBody)))
	_, err := in.ReadFrom(io.LimitReader(r.Body, most+1))
	return in.Bytes(), err
}
