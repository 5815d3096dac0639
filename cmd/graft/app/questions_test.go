// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"testing"
)

// TestQuestions checks the answers from a terminal, and from a pipe that ends early.
func TestQuestions(t *testing.T) {
	var out strings.Builder
	s := &Streams{In: strings.NewReader("one\n\nmaybe\nno\n"), Err: &out}
	q := newQuestions(t.Context(), s)
	got := []any{q.text("a", "x"), q.text("b", "y"), q.yes("c", true), q.text("d", "z"), q.yes("e", true)}
	for i, want := range []any{"one", "y", false, "z", true} {
		if got[i] != want {
			t.Errorf("answer %d is %v, want %v", i, got[i], want)
		}
	}
	if err := q.err(); err != nil {
		t.Error(err)
	}
	if want := "a [x]: \nb [y]: \nc [yes]: \nanswer yes or no\nc [yes]: \nd [z]: \ne [yes]: \n"; out.String() != want {
		t.Errorf("asked %q", out.String())
	}
}

// TestQuestionsInterrupted checks that a question ends with its context.
func TestQuestionsInterrupted(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	q := newQuestions(ctx, &Streams{In: never{}, Err: &strings.Builder{}, Asks: true})
	if got := q.text("a", "x"); got != "x" || !q.yes("b", true) {
		t.Errorf("got %q", got)
	}
	if q.err() == nil {
		t.Error("nobody learns of the interruption")
	}
}

// never is a terminal without input.
type never struct{}

func (never) Read([]byte) (int, error) { select {} }
