// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// questions asks for lines of text. An empty line, and the end of the input, take the answer that is offered.
type questions struct {
	context context.Context
	streams *Streams
	lines   chan string
}

func newQuestions(ctx context.Context, s *Streams) *questions {
	q := &questions{context: ctx, streams: s, lines: make(chan string)}
	// Reading a terminal cannot be interrupted, so that it runs in a goroutine.
	go func() {
		defer close(q.lines)
		for scanner := bufio.NewScanner(s.In); scanner.Scan(); {
			select {
			case q.lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return q
}

// text asks for a text.
func (q *questions) text(question, offered string) string {
	if q.context.Err() != nil {
		return offered
	}
	fmt.Fprintf(q.streams.Err, "%s [%s]: ", question, offered)
	select {
	case <-q.context.Done():
		fmt.Fprintln(q.streams.Err)
	case line, open := <-q.lines:
		if !open || !q.streams.Asks {
			fmt.Fprintln(q.streams.Err)
		}
		if answer := strings.TrimSpace(line); answer != "" {
			return answer
		}
	}
	return offered
}

// yes asks whether something is so, until the answer is yes or no.
func (q *questions) yes(question string, offered bool) bool {
	shown := map[bool]string{true: "yes", false: "no"}
	for q.context.Err() == nil {
		switch answer := strings.ToLower(q.text(question, shown[offered])); answer {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		}
		fmt.Fprintln(q.streams.Err, "answer yes or no")
	}
	return offered
}

// err returns an error if the questions were interrupted.
func (q *questions) err() error { return interrupted(q.context) }
