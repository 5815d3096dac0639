// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// lackFor is the time for which a kind is assumed to be missing. A probe may create links that other programs
// see, so it is not repeated earlier; a module may be loaded later.
const lackFor = time.Minute

// kinds caches which kinds of links the kernel supports.
type kinds struct {
	mutex sync.Mutex
	// there has the supported kinds, lacking the reasons for the others, for lackFor.
	there   map[Kind]bool
	lacking map[Kind]lack
}

type lack struct {
	fault error
	since time.Time
}

// has returns the reason why a kind is missing, or nil. It calls try if that is unknown.
func (k *kinds) has(kind Kind, try func() map[Kind]error) error {
	if known, fault := k.known(kind); known {
		return fault
	}
	faults := try()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.there == nil {
		k.there, k.lacking = map[Kind]bool{}, map[Kind]lack{}
	}
	for kind, fault := range faults {
		switch {
		case fault == nil:
			k.there[kind] = true
		case errors.Is(fault, ErrImpossible): // other errors are temporary
			k.lacking[kind] = lack{fault, time.Now()}
		}
	}
	return faults[kind]
}

func (k *kinds) known(kind Kind) (known bool, fault error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.there[kind] {
		return true, nil
	}
	maps.DeleteFunc(k.lacking, func(_ Kind, l lack) bool { return time.Since(l.since) >= lackFor })
	l, known := k.lacking[kind]
	return known, l.fault
}
