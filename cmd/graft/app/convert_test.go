// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"testing"
)

// TestPairName holds how pairs are told apart by their paths.
func TestPairName(t *testing.T) {
	for name, test := range map[string]struct {
		paths []string
		want  string
	}{
		"one":                   {[]string{"after.yaml"}, ""},
		"files":                 {[]string{"a/after-1.33.yaml", "a/after-1.34.yaml"}, "1.33"},
		"folders above":         {[]string{"1.33/after.yaml", "1.34/after.yaml"}, "1.33"},
		"folders":               {[]string{"out/annotated/after", "out/plain/after"}, "annotated"},
		"nothing but the word":  {[]string{"after.yaml", "after-1.33.yaml"}, ""},
		"the same":              {[]string{"after.yaml", "after.yaml"}, ""},
		"a name of its own":     {[]string{"seed-eu.json", "seed-us.json"}, "seed-eu"},
		"with the word behind":  {[]string{"eu-after.yaml", "us-after.yaml"}, "eu"},
		"dots in a folder name": {[]string{"v1.33", "v1.34"}, "v1.33"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pairName(test.paths, 0); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestQuestions holds what answers become, from a terminal and from a pipe that ends early.
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

// TestQuestionsInterrupted holds that a question ends with its context.
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

// never is a terminal at which nobody types.
type never struct{}

func (never) Read([]byte) (int, error) { select {} }
