// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// TestDrain checks that the program is draining from the signal on, that it serves until the delay is over, and that
// background work ends after the server.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []string
		life := &program.Life{Log: logr.Discard(), Delay: time.Hour, Timeout: time.Minute, OnDrain: func() { steps = append(steps, "drain") }}
		ctx, end := context.WithCancel(t.Context())
		began := time.Now()
		err := life.Serve(ctx, func(serving context.Context, timeout time.Duration) error {
			if life.Draining() || timeout != time.Minute {
				t.Errorf("draining %t, timeout %s", life.Draining(), timeout)
			}
			end()
			synctest.Wait()
			if !life.Draining() || serving.Err() != nil {
				t.Errorf("draining %t, the server's context: %v", life.Draining(), serving.Err())
			}
			<-serving.Done()
			if passed := time.Since(began); passed != time.Hour {
				t.Errorf("it served for %s", passed)
			}
			steps = append(steps, "served")
			return nil
		}, func(working context.Context, _ func(error)) []func() {
			return []func(){func() { <-working.Done(); steps = append(steps, "worked") }}
		})
		if err != nil || len(steps) != 3 || steps[0] != "drain" || steps[1] != "served" || steps[2] != "worked" {
			t.Errorf("got %v, %v", steps, err)
		}
	})
}

// TestBackgroundWorkEndsWithServer checks that work ends the server with an error, and that work which does not end is not waited for longer than the timeout.
func TestBackgroundWorkEndsWithServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := &program.Life{Log: logr.Discard(), Timeout: time.Minute}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		hanging, release := context.WithCancel(t.Context())
		defer release()
		broken, began := errors.New("broken"), time.Now()
		err := life.Serve(ctx, func(serving context.Context, _ time.Duration) error {
			<-serving.Done()
			return context.Cause(serving)
		}, func(_ context.Context, end func(error)) []func() {
			return []func(){func() { end(broken); <-hanging.Done() }}
		})
		if !errors.Is(err, broken) || time.Since(began) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}
