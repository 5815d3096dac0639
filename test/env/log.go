// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"strings"
	"sync"
)

// Log collects the output of a program. It is safe for concurrent use.
type Log struct {
	// Limit is the size in bytes above which the log is cleared; 0 means no limit.
	Limit int

	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.Limit > 0 && l.text.Len() > l.Limit {
		l.text.Reset()
	}
	return l.text.Write(text)
}

// String returns the collected output.
func (l *Log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// Tail returns the last lines of the collected output.
func (l *Log) Tail(lines int) string {
	all := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
