// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"maps"
	"sync"
	"time"
)

// firstSeen records when each finding of the reconciler was first seen.
type firstSeen struct {
	mutex sync.Mutex
	times map[string]time.Time
}

// since returns when a finding was seen first, and whether that is now.
func (f *firstSeen) since(key string, now time.Time) (first time.Time, isNew bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if first, known := f.times[key]; known {
		return first, false
	}
	if f.times == nil {
		f.times = map[string]time.Time{}
	}
	f.times[key] = now
	return now, true
}

// keep forgets all findings but those of the current reconciliation.
func (f *firstSeen) keep(current map[string]bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	maps.DeleteFunc(f.times, func(key string, _ time.Time) bool { return !current[key] })
}
