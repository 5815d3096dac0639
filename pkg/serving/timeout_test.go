// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimeout checks the accepted forms of a caller's timeout, and that parsing allocates nothing.
func TestTimeout(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":                             0,
		"timeout=":                     0,
		"timeout=10s":                  10 * time.Second,
		"timeout=1m30s":                90 * time.Second,
		"timeout=0s":                   0,
		"timeout=-1s":                  0,
		"timeout=10":                   0,
		"timeout=x":                    0,
		"timeout=10s&a=b":              10 * time.Second,
		"a=b&timeout=3s":               3 * time.Second,
		"timeout=%31s":                 time.Second,
		"timeout=+1s":                  0,
		"timeout=1s&timeout=2s":        time.Second,
		"timeout=1s;":                  0,
		"Timeout=1s":                   0,
		"timeout=9999999999999999999h": 0,
	} {
		if got := Timeout(httptest.NewRequest(http.MethodPost, "/?"+query, nil)); got != want {
			t.Errorf("%q: %s, not %s", query, got, want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/?timeout=10s", nil)
	if n := testing.AllocsPerRun(100, func() { Timeout(r) }); n != 0 {
		t.Errorf("Timeout allocates %v times, want none", n)
	}
}

// TestWithDeadline checks that a context ends as one of context.WithDeadline does, with and without a call of Done.
func TestWithDeadline(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	sooner, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Minute))
	defer end()
	for _, test := range []struct {
		name   string
		parent context.Context
		in     time.Duration
		cancel bool
		want   error
	}{
		{name: "goes on", parent: t.Context(), in: time.Minute},
		{name: "cancelled", parent: t.Context(), in: time.Minute, cancel: true, want: context.Canceled},
		{name: "after the deadline", parent: t.Context(), in: -time.Second, want: context.DeadlineExceeded},
		{name: "of a cancelled parent", parent: gone, in: time.Minute, want: context.Canceled},
		{name: "of a parent with an earlier deadline", parent: sooner, in: time.Minute, want: context.DeadlineExceeded},
	} {
		for _, waits := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				deadline := time.Now().Add(test.in)
				ctx, cancel := WithDeadline(test.parent, deadline)
				defer cancel()
				model, cancelModel := context.WithDeadline(test.parent, deadline)
				defer cancelModel()
				if waits {
					ctx.Done()
				}
				child, cancelChild := context.WithCancel(ctx)
				defer cancelChild()
				if test.cancel {
					cancel()
				}
				if err := ctx.Err(); !errors.Is(err, test.want) {
					t.Errorf("the error is %v, want %v", err, test.want)
				}
				got, _ := ctx.Deadline()
				if want, _ := model.Deadline(); !got.Equal(want) {
					t.Errorf("the deadline is %s, want %s", got, want)
				}
				select {
				case <-ctx.Done():
					if test.want == nil {
						t.Error("the context has ended")
					}
				default:
					if test.want != nil {
						t.Error("the context has not ended")
					}
				}
				if err := child.Err(); !errors.Is(err, test.want) {
					t.Errorf("the error of a child is %v, want %v", err, test.want)
				}
			})
		}
	}
}

// TestDeadlineWithoutTimer checks that a context ends at its deadline, whether its user waits for it or asks for its error,
// and that its error stays the same.
func TestDeadlineWithoutTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks, cancelAsks := WithDeadline(t.Context(), time.Now().Add(time.Second))
		waits, cancelWaits := WithDeadline(t.Context(), time.Now().Add(time.Second))
		<-waits.Done()
		for range 2 {
			for name, ctx := range map[string]context.Context{"asks": asks, "waits": waits} {
				if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: the error is %v, want %v", name, err, context.DeadlineExceeded)
				}
			}
			cancelAsks()
			cancelWaits()
		}
		cancelled, cancel := WithDeadline(t.Context(), time.Now().Add(time.Second))
		cancel()
		for range 2 {
			if err := cancelled.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: the error is %v, want %v", err, context.Canceled)
			}
			time.Sleep(time.Minute)
		}
		<-cancelled.Done()
	})
}
