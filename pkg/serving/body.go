// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Body is the body of a request that must come in time. When it has come whole, there is no hurry any more: net/http takes the deadline of a connection of
// HTTP/1 away itself then, as it listens for what the caller does next, and that of a stream of HTTP/2 is for nothing but its body.
type Body struct {
	io.ReadCloser

	whole atomic.Bool
}

// Hurry gives a request a body of which the rest must have come by then; where it has none, it is whole. Who cannot have deadlines has no connection to be
// held up by.
func Hurry(w http.ResponseWriter, r *http.Request, by time.Time) *Body {
	b := &Body{ReadCloser: r.Body}
	if r.Body == nil || r.Body == http.NoBody {
		b.whole.Store(true)
		return b
	}
	_ = http.NewResponseController(w).SetReadDeadline(by)
	r.Body = b
	return b
}

// Read implements io.Reader.
func (b *Body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF {
		b.whole.Store(true)
	}
	return n, err
}

// Whole says whether all of it has come.
func (b *Body) Whole() bool { return b.whole.Load() }
