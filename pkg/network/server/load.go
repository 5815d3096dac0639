// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"sync/atomic"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// load is what all guards of a server are working on.
type load struct {
	// working is how many requests that are; most is how many they may be.
	working atomic.Int64
	most    int64
	// behind is for how many of them work goes on though they are answered, or their callers have left.
	behind atomic.Int64
}

// enter takes a place among those that are worked on, if there is one.
func (l *load) enter() bool {
	if l.working.Add(1) <= l.most {
		return true
	}
	l.working.Add(-1)
	return false
}

// hold keeps the place that was taken for as long as anything is done for the request: what goes on when its caller has left is worked on still. Half of all
// places may be held so. What is beyond gives its place back when the caller departs, so that a cloud that hangs does not take those of everybody: how
// much is asked of a cloud is bounded by its own limits.
func (l *load) hold(ctx context.Context) (held context.Context, depart func()) {
	leave := func() { l.working.Add(-1) }
	held, release := serving.WithHold(ctx, func() { leave() })
	return held, func() {
		if l.behind.Add(1) <= l.most/2 {
			leave = func() { l.working.Add(-1); l.behind.Add(-1) }
		} else {
			l.behind.Add(-1)
			l.working.Add(-1)
			leave = func() {}
		}
		release()
	}
}
