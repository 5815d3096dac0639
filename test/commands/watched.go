// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"strings"
	"sync"
)

// watched is an output that reports when a text has been written.
type watched struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	text   string
	seen   chan struct{}
	once   sync.Once
}

// Write implements io.Writer.
func (w *watched) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buffer.Write(data)
	if strings.Contains(w.buffer.String(), w.text) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

// String returns the text that has been written so far.
func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buffer.String()
}
