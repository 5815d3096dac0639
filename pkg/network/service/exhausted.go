// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"maps"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Exhaustion is a pool that had nothing left of a kind.
type Exhaustion struct {
	Pool string
	Of   network.Kind
}

// exhaustions counts how often that was so.
type exhaustions struct {
	mutex  sync.Mutex
	counts map[Exhaustion]uint64
}

// Exhaustions is how often nothing could be given, by pool and by what there was none of, since the service began.
func (s *Service) Exhaustions() map[Exhaustion]uint64 {
	s.exhausted.mutex.Lock()
	defer s.exhausted.mutex.Unlock()
	return maps.Clone(s.exhausted.counts)
}

// note counts an error of the ledger that says so. It gives the error.
func (e *exhaustions) note(err error) error {
	var nothing *network.Exhausted
	if errors.As(err, &nothing) {
		e.count(Exhaustion{nothing.Pool, nothing.Of})
	}
	return err
}

func (e *exhaustions) count(what Exhaustion) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.counts == nil {
		e.counts = map[Exhaustion]uint64{}
	}
	e.counts[what]++
}
