// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"time"
)

// meter says on a terminal how far a long command is, in a line that goes when it ends.
type meter struct {
	streams *Streams
	what    string
	began   time.Time
	written bool
}

// patience is how long a command runs before its progress is shown.
const patience = time.Second

func newMeter(s *Streams, what string) *meter {
	return &meter{streams: s, what: what, began: time.Now()}
}

// step is told how much is done.
func (p *meter) step(done, of int) {
	if !p.streams.ErrInteractive || os.Getenv("TERM") == "dumb" || time.Since(p.began) < patience {
		return
	}
	fmt.Fprintf(p.streams.Err, "%s%d of %d %ss", emptyLine, done, of, p.what)
	p.written = true
}

// done takes the line away.
func (p *meter) done() {
	if p.written {
		fmt.Fprint(p.streams.Err, emptyLine)
	}
}

// emptyLine goes to the beginning of the line and erases it, also what the terminal has written into it, such as ^C.
const emptyLine = "\r\x1b[K"
