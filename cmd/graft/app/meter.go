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
	said    time.Time
	written bool
}

// patience is how long a command runs before its progress is shown.
const patience = time.Second

func newMeter(s *Streams, what string) *meter {
	return &meter{streams: s, what: what, began: time.Now()}
}

// step displays the progress.
func (p *meter) step(done, of int) {
	if !p.streams.ErrInteractive || os.Getenv("TERM") == "dumb" || time.Since(p.began) < patience {
		return
	}
	fmt.Fprintf(p.streams.Err, "%s%d of %d %ss", emptyLine, done, of, p.what)
	p.written = true
}

// count displays the progress of work with an unknown total.
func (p *meter) count(done int) { p.counted("", done) }

// counted works like count, with a word for the completed work.
func (p *meter) counted(how string, done int) {
	elapsed := time.Since(p.began)
	if !p.streams.ErrInteractive || os.Getenv("TERM") == "dumb" || elapsed < patience || time.Since(p.said) < patience/4 {
		return
	}
	if how != "" {
		how += " "
	}
	p.said = time.Now()
	fmt.Fprintf(p.streams.Err, "%s%s%d %ss, %.0f a second", emptyLine, how, done, p.what, float64(done)/elapsed.Seconds())
	p.written = true
}

// done takes the line away.
func (p *meter) done() {
	if p.written {
		fmt.Fprint(p.streams.Err, emptyLine)
	}
}

// emptyLine returns to the start of the line and erases it, including text from the terminal, such as ^C.
const emptyLine = "\r\x1b[K"
