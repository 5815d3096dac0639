// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// terminal is where people read along, which may also be a file.
type terminal struct {
	out    *os.File
	gone   func() // called when nobody reads any more: what has been started must be ended
	live   bool   // lines may be overwritten
	colour bool
	width  int
	mu     sync.Mutex
}

func newTerminal(out *os.File, environment func(string) string, gone func()) *terminal {
	t := &terminal{out: out, gone: gone, live: term.IsTerminal(int(out.Fd()))}
	if width, _, err := term.GetSize(int(out.Fd())); err == nil && t.live {
		t.width = max(80, width-1)
	}
	// See no-color.org.
	t.colour = t.live && environment("NO_COLOR") == "" && environment("TERM") != "dumb"
	return t
}

// Write implements io.Writer, for what is not written by lines.
func (t *terminal) Write(text []byte) (int, error) {
	n, err := t.out.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		t.gone()
	}
	return n, err
}

func (t *terminal) style() render.Style { return render.Style{Colour: t.colour, Width: t.width} }

func (t *terminal) line(format string, arguments ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t, format+"\n", arguments...)
}

func (t *terminal) paint(code, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t *terminal) bold(text string) string { return t.paint("1", text) }
func (t *terminal) dim(text string) string  { return t.paint("2", text) }

func (t *terminal) failure(err error) { t.line("\n%s %s", t.paint("1;31", "FAILED"), err) }

// stillEvery is how often a phase that goes on says so where lines cannot be overwritten.
const stillEvery = 5 * time.Second

// phase runs a step and shows that it runs, how long it took, and what it says of itself at the end.
func (t *terminal) phase(name string, step func(now func(string)) (string, error)) error {
	var (
		began  = time.Now()
		done   = make(chan struct{})
		closed = make(chan struct{})
		state  = &status{}
	)
	go func() {
		defer close(closed)
		t.tick(name, began, state, done)
	}()
	summary, err := step(state.set)
	close(done)
	<-closed
	mark := t.paint("32", "ok")
	if err != nil {
		mark, summary = t.paint("31", "no"), ""
	}
	name += strings.Repeat(" ", max(0, 50-utf8.RuneCountInString(name)))
	t.line("%s %s %s %s  %s", t.clear(), mark, name, t.dim(fmt.Sprintf("%5.1f s", time.Since(began).Seconds())), t.dim(summary))
	return err
}

// status is what a phase says it is waiting for.
type status struct {
	mu   sync.Mutex
	text string
}

func (s *status) set(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

func (s *status) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// tick shows the phase until it is done: ten times a second in place, or as a line once in a while.
func (t *terminal) tick(name string, began time.Time, state *status, done <-chan struct{}) {
	every := stillEvery
	if t.live {
		every = 100 * time.Millisecond
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			t.still(name, time.Since(began), state.get())
		}
	}
}

func (t *terminal) still(name string, passed time.Duration, state string) {
	text := fmt.Sprintf(".. %s %.0f s", name, passed.Seconds())
	if state != "" {
		text += ", " + state
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.live {
		_, _ = fmt.Fprintf(t, "  %s\n", text)
		return
	}
	if runes := []rune(text); len(runes) > t.width-2 {
		text = string(runes[:t.width-2])
	}
	_, _ = fmt.Fprintf(t, "%s %s", t.clear(), text)
}

// clear goes back to the start of the line and empties it.
func (t *terminal) clear() string {
	if !t.live {
		return ""
	}
	return "\r\x1b[K"
}
