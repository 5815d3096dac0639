// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"strings"
	"time"
)

// meter says on a terminal how far a long command is, in a line that goes when it ends.
type meter struct {
	streams *Streams
	what    string
	began   time.Time
	written int
}

// patience is how long a command runs before its progress is shown.
const patience = time.Second

func newMeter(s *Streams, what string) *meter { return &meter{streams: s, what: what, began: time.Now()} }

// step is told how much is done.
func (p *meter) step(done, of int) {
	if !p.streams.ErrInteractive || time.Since(p.began) < patience {
		return
	}
	line := fmt.Sprintf("%d of %d %ss", done, of, p.what)
	fmt.Fprintf(p.streams.Err, "\r%s%s", line, strings.Repeat(" ", max(0, p.written-len(line))))
	p.written = len(line)
}

// done takes the line away.
func (p *meter) done() {
	if p.written > 0 {
		fmt.Fprintf(p.streams.Err, "\r%s\r", strings.Repeat(" ", p.written))
	}
}
