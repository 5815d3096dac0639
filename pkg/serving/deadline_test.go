// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestDeadline checks the end of a deadline with and without a waiter.
func TestDeadline(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	sooner, cancel := context.WithDeadline(t.Context(), future.Add(-time.Minute))
	defer cancel()
	cases := map[string]struct {
		parent context.Context
		at     time.Time
		until  time.Time
		err    error
	}{
		"returns nothing before the deadline":   {t.Context(), future, future, nil},
		"reports a deadline that has passed":    {t.Context(), past, past, context.DeadlineExceeded},
		"reports that the parent was cancelled": {cancelled, future, future, context.Canceled},
		"parent ends first":                     {sooner, future, future.Add(-time.Minute), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := EndAt(c.parent, c.at)
			defer d.End()
			if until, ok := d.Deadline(); !ok || !until.Equal(c.until) {
				t.Errorf("deadline: %s, %t", until, ok)
			}
			if err := d.Err(); !errors.Is(err, c.err) {
				t.Errorf("error: %v", err)
			}
			below, cancel := context.WithCancel(d)
			defer cancel()
			if c.err != nil {
				<-d.Done()
				<-below.Done()
			} else {
				select {
				case <-d.Done():
					t.Error("the context has ended, want it open")
				case <-below.Done():
					t.Error("the derived context has ended, want it open")
				default:
				}
			}
			if err := d.Err(); !errors.Is(err, c.err) {
				t.Errorf("unexpected error while Done is used: %v", err)
			}
			d.End()
			<-d.Done()
			<-below.Done()
		})
	}
}

// TestDeadlineAfterEnd checks that a deadline without a waiter ends with End or stays expired, and allocates nothing.
func TestDeadlineAfterEnd(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		parent context.Context
		at     time.Time
		err    error
	}{
		"returns nothing before the deadline":   {t.Context(), future, context.Canceled},
		"reports a deadline that has passed":    {t.Context(), past, context.DeadlineExceeded},
		"reports that the parent was cancelled": {cancelled, future, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			d := EndAt(c.parent, c.at)
			d.End()
			if err := d.Err(); !errors.Is(err, c.err) {
				t.Errorf("error: %v", err)
			}
			select {
			case <-d.Done():
			default:
				t.Fatal("a waiter after the end is not released at once")
			}
			below, stop := context.WithCancel(d)
			defer stop()
			<-below.Done()
			d.End()
			if err := d.Err(); !errors.Is(err, c.err) {
				t.Errorf("unexpected error while Done is used: %v", err)
			}
		})
	}
	parent := t.Context()
	if made := testing.AllocsPerRun(100, func() {
		d := EndAt(parent, future)
		if d.Err() != nil {
			t.Error("the context has ended, want it open")
		}
		d.End()
	}); made > 1 {
		t.Errorf("a deadline makes %v objects", made)
	}
}
