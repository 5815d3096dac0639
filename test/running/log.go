// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package running has what tests share that run Graft's programs: in a process of their own, or inside the test. Enter at Start for the one, and at Main
// for the other.
package running

import (
	"bytes"
	"strings"
	"sync"
)

// Log is what a program says, which can be written to and read at the same time.
type Log struct {
	// Most is how much is kept, in bytes: with more, it begins anew; 0: all of it.
	Most int

	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.Most > 0 && l.text.Len() > l.Most {
		l.text.Reset()
	}
	return l.text.Write(text)
}

// String is what there is of it.
func (l *Log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// Tail is the last lines of it.
func (l *Log) Tail(lines int) string {
	all := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
