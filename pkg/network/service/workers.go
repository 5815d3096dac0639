// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// workers counts running work, so that the service can wait for its end.
type workers struct {
	mutex   sync.Mutex
	running int
	// ending refuses new allocations, and ended also releases.
	ending, ended bool
	idle          chan struct{}
}

// errEnds is the error of work that does not begin because the service ends.
var errEnds = fmt.Errorf("%w: the server ends", network.ErrUnavailable)

// begin counts work; releases may begin until all other work has ended. The returned function ends it.
func (w *workers) begin(release bool) (done func(), err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended || w.ending && !release {
		return nil, errEnds
	}
	w.running++
	return func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if w.running--; w.running == 0 && w.ending {
			w.ended = true
			close(w.idle)
		}
	}, nil
}

// finish waits until all work has ended, and lets none begin.
func (w *workers) finish() {
	w.mutex.Lock()
	if w.ending {
		w.mutex.Unlock()
		return
	}
	w.ending, w.idle = true, make(chan struct{})
	if w.running == 0 {
		w.ended = true
		close(w.idle)
	}
	w.mutex.Unlock()
	<-w.idle
}
