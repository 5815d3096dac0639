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
	"os"
	"slices"
	"sync"
	"time"
)

// ErrBusy says that a request was refused since there was too much to do.
var ErrBusy = errors.New("the server works on as much as it can; try again")

const (
	// smallBody is how much of a body arrives without waiting for larger ones, in bytes.
	smallBody = 64 << 10
	// pooledBody is the largest buffer that is used again, in bytes.
	pooledBody = 1 << 20
	// stallTime is how long a body may bring less than smallBody while others wait for its room.
	stallTime = time.Second
)

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// received is the body of a request that a Guard has received, and what the request takes of the Guard.
type received struct {
	io.ReadCloser // the rest, on the connection
	guard         *Guard
	control       *http.ResponseController
	began         time.Time

	// buffer is what has arrived, of which read has been read; err is why there is no more: io.EOF where it is whole.
	buffer *[]byte
	read   int
	err    error
	// done says that the handler has returned, and did not panic.
	done bool

	// The mutex of the guard is held for what follows. place is that among the bodies that arrive; nil: it has arrived, or was ended.
	place *list.Element
	// counted are the bytes that are counted, marked those a while ago.
	counted, marked int64
	markedAt        time.Time
	// waits says that it waits for room, and not for its caller; displaced that another request has its place, behind that work for it goes on without a
	// caller, and gone that it takes nothing any more.
	waits, displaced, behind, gone bool
	// ended is closed when it is displaced.
	ended chan struct{}
}

// Read implements io.Reader for those who know no received bodies.
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

// recycle gives the buffer to the next request, if it is not large.
func (b *received) recycle() {
	if cap(*b.buffer) <= pooledBody {
		buffers.Put(b.buffer)
	}
}

// whole reports whether all of it has arrived.
func (b *received) whole() bool { return errors.Is(b.err, io.EOF) }

// receive takes the body in, as it arrives: memory is taken for what is there, and not for what was announced. It ends with an error, with the whole body, or
// when there is more than most bytes. The error is ErrBusy where there was no room for it.
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
		if taken := b.guard.take(b, int64(n)); taken != nil {
			if b.err = taken; errors.Is(taken, ErrBusy) {
				return taken
			}
			return nil
		}
		if body = body[:len(body)+n]; err != nil {
			b.err = b.ofEnd(err)
			return nil
		}
	}
	return nil
}

// ofEnd returns why a body has ended: one that was ended here did not come in time.
func (b *received) ofEnd(err error) error {
	select {
	case <-b.ended:
		return os.ErrDeadlineExceeded
	default:
		return err
	}
}

// grow returns a body with room for more: twice as much as has arrived, and no more than was announced, or may come.
func grow(body []byte, announced, most int64) []byte {
	if len(body) < cap(body) {
		return body
	}
	end := most + 1
	if announced >= 0 {
		end = min(end, announced+1) // one more, so that the end is seen without another step
	}
	want := min(max(2*int64(cap(body)), bytes.MinRead), end)
	if want <= int64(len(body)) {
		want = int64(len(body)) + bytes.MinRead
	}
	return slices.Grow(body, int(want)-len(body))
}

// ReadAll returns the body of a request, of which at most one byte more than most is read: that which a Guard has received as it is, and any other in memory that
// grows as it arrives. What was read is returned also with an error.
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
