// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package console is where people read along while `make start` and its like do what they show. Enter at New.
package console

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
)

// Terminal is where people read along, which may also be a file.
type Terminal struct {
	// Colour says that text may be coloured, and Width is how many columns there are; 0: any number.
	Colour bool
	Width  int

	out  *os.File
	gone func()
	live bool // lines may be overwritten
	mu   sync.Mutex
}

// New is a terminal; gone is called when nobody reads any more: what has been started must be ended.
func New(out *os.File, environment func(string) string, gone func()) *Terminal {
	t := &Terminal{out: out, gone: gone, live: term.IsTerminal(int(out.Fd()))}
	if width, _, err := term.GetSize(int(out.Fd())); err == nil && t.live {
		t.Width = max(80, width-1)
	}
	// See no-color.org.
	t.Colour = t.live && environment("NO_COLOR") == "" && environment("TERM") != "dumb"
	return t
}

// Write implements io.Writer, for what is not written by lines.
func (t *Terminal) Write(text []byte) (int, error) {
	n, err := t.out.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		t.gone()
	}
	return n, err
}

// Line writes a line.
func (t *Terminal) Line(format string, arguments ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t, format+"\n", arguments...)
}

// Paint colours text with a code of ANSI, where there are colours.
func (t *Terminal) Paint(code, text string) string {
	if !t.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is bold text.
func (t *Terminal) Bold(text string) string { return t.Paint("1", text) }

// Dim is text that matters less.
func (t *Terminal) Dim(text string) string { return t.Paint("2", text) }

// Failure says that something is wrong.
func (t *Terminal) Failure(err error) { t.Line("\n%s %s", t.Paint("1;31", "FAILED"), err) }

// stillEvery is how often a phase that goes on says so where lines cannot be overwritten.
const stillEvery = 5 * time.Second

// Phase runs a step and shows that it runs, how long it took, and what it says of itself at the end.
func (t *Terminal) Phase(name string, step func(now func(string)) (string, error)) error {
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
	mark := t.Paint("32", "ok")
	if err != nil {
		mark, summary = t.Paint("31", "no"), ""
	}
	name += strings.Repeat(" ", max(0, 50-utf8.RuneCountInString(name)))
	t.Line("%s %s %s %s  %s", t.clear(), mark, name, t.Dim(fmt.Sprintf("%5.1f s", time.Since(began).Seconds())), t.Dim(summary))
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
func (t *Terminal) tick(name string, began time.Time, state *status, done <-chan struct{}) {
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

func (t *Terminal) still(name string, passed time.Duration, state string) {
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
	if runes := []rune(text); len(runes) > t.Width-2 {
		text = string(runes[:t.Width-2])
	}
	_, _ = fmt.Fprintf(t, "%s %s", t.clear(), text)
}

// clear goes back to the start of the line and empties it.
func (t *Terminal) clear() string {
	if !t.live {
		return ""
	}
	return "\r\x1b[K"
}

// Truthy is what people mean by ONCE=1.
func Truthy(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "false", "no":
		return false
	default:
		return true
	}
}
