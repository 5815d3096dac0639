// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TestRequestKeepsPlaceUntilWorkEnds checks that a request keeps its place in the server until its work ends, also after its caller has left.
func TestRequestKeepsPlaceUntilWorkEnds(t *testing.T) {
	w := newWorld(t)
	w.run()
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.cloud.hook = func(string, network.Allocation) error {
		close(begun)
		<-goOn
		return nil
	}
	var left atomic.Int32
	ask := func(do func(context.Context) error) {
		ctx, cancel := context.WithCancel(t.Context())
		held, release := serving.WithHold(ctx, func() { left.Add(1) })
		go func() {
			<-begun
			cancel()
		}()
		if err := do(held); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
		release()
	}
	ask(func(ctx context.Context) error { _, err := w.Allocate(ctx, request("cloudy", "a")); return err })
	ask(func(ctx context.Context) error { return w.Release(ctx, request("cloudy", "a").Owner) })
	if got := left.Load(); got != 0 {
		t.Errorf("%d places are free during the cloud's call, want none", got)
	}
	w.cloud.mutex.Lock()
	w.cloud.hook = nil
	w.cloud.mutex.Unlock()
	close(goOn)
	w.eventually("both places are free", func() bool { return left.Load() == 2 })
	w.eventually("it is released", func() bool { return w.state("a") == "none" })
}
