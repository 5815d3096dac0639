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

// Body is the body of a request that must come in time; when it has come whole, there is no hurry any more.
type Body struct {
	io.ReadCloser

	control *http.ResponseController
	whole   atomic.Bool
}

// Hurry gives a request a body of which the rest must have come by then. Who cannot have deadlines has no connection to be held up by.
func Hurry(w http.ResponseWriter, r *http.Request, by time.Time) *Body {
	b := &Body{ReadCloser: r.Body, control: http.NewResponseController(w)}
	_ = b.control.SetReadDeadline(by)
	r.Body = b
	return b
}

// Read implements io.Reader.
func (b *Body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF && !b.whole.Swap(true) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Whole says whether all of it has come.
func (b *Body) Whole() bool { return b.whole.Load() }
