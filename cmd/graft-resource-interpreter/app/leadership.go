// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"sync"
)

// leadership says whether this replica is to write. It ends with the context of the one who has given it, whatever is told of that, and when.
type leadership struct {
	mutex sync.Mutex
	// term ends with the leadership; nil: there is none.
	term <-chan struct{}
	// alone is set before anything works: there is no election.
	alone bool
}

// begin is told by the election, in a goroutine of its own: what it gave may have ended by then. It says whether it has not.
func (l *leadership) begin(ctx context.Context) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if ctx.Err() != nil {
		return false
	}
	l.term = ctx.Done()
	return true
}

// is says whether it goes on.
func (l *leadership) is() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.alone || l.term == nil {
		return l.alone
	}
	select {
	case <-l.term:
		return false
	default:
		return true
	}
}
