// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"strconv"
	"sync"
)

// Answer writes a response as the last action of a handler. It ignores errors, because the client may have left.
//
// Over HTTP/1, net/http writes a response that is longer than its buffer of 4 KiB in two parts. Answer makes the
// connection send both at once, which saves a system call, and often a wake-up of the client.
func Answer(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if c := connectionOf(r.Context()); c != nil && r.ProtoMajor == 1 {
		c.keepNext(true)
		defer c.keepNext(false)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// kept is the first part of a response, which a connection sends together with the second.
type kept struct {
	mutex sync.Mutex
	// next is true if the next part is the first one of a response that has two.
	next bool
	part *[]byte
}

// parts are buffers of responses.
var parts = sync.Pool{New: func() any { return new([]byte) }}

// keepNext makes the connection keep the next write until the one after it. It must be called only if net/http will
// write the rest of a response then.
func (c *connection) keepNext(next bool) {
	c.kept.mutex.Lock()
	defer c.kept.mutex.Unlock()
	c.kept.next = next
}

// Write implements net.Conn.
func (c *connection) Write(part []byte) (int, error) {
	k := &c.kept
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.next {
		k.next, k.part = false, parts.Get().(*[]byte)
		*k.part = append((*k.part)[:0], part...)
		return len(part), nil
	}
	if k.part == nil {
		return c.Conn.Write(part)
	}
	whole := append(*k.part, part...)
	_, err := c.Conn.Write(whole)
	if cap(whole) <= pooledBody {
		*k.part = whole
		parts.Put(k.part)
	}
	if k.part = nil; err != nil {
		return 0, err
	}
	return len(part), nil
}
