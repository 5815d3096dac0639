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

// lackFor is how long a kind is taken to be missing: until then nobody tries it again, which may make links that others see, and then a module may have
// been loaded.
const lackFor = time.Minute

// kinds are what is known of the kinds of links of this kernel.
type kinds struct {
	mutex sync.Mutex
	// there are the kinds that it has, which stay, and lacking what was said of the others, for lackFor.
	there   map[Kind]bool
	lacking map[Kind]lack
}

type lack struct {
	fault error
	since time.Time
}

// has gives why there is not a kind; nil: there is. It is tried where that is not known.
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
		case errors.Is(fault, ErrImpossible): // else it is only not known now
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
