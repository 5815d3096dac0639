// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"maps"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// busyFor is how long it is remembered which MAC addresses were on a parent.
const busyFor = time.Second

// busy is which MAC addresses interfaces on parents have. The kernel only lists all of a parent, which takes longer the more there are: so they are
// listed once in a while, and whenever one of them is asked for. What somebody else has brought up meanwhile is not seen; the kernel refuses the second.
type busy struct {
	mutex   sync.Mutex
	parents map[int]listed
}

// listed are the MAC addresses of a parent, and those that were asked for since.
type listed struct {
	since time.Time
	macs  map[string]bool
}

// has says whether an interface on a parent has a MAC address. Whoever asks is about to use it.
func (b *busy) has(parent int, mac network.HardwareAddr, list func() (map[string]bool, error)) (bool, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	maps.DeleteFunc(b.parents, func(_ int, l listed) bool { return time.Since(l.since) >= busyFor })
	if l, fresh := b.parents[parent]; fresh && !l.macs[string(mac)] {
		l.macs[string(mac)] = true
		return false, nil
	}
	since := time.Now()
	macs, err := list()
	if err != nil {
		return false, err
	}
	has := macs[string(mac)]
	if asked := b.parents[parent]; asked.macs != nil { // it was asked for before: who asked may not have brought it up yet
		maps.Copy(macs, asked.macs)
		since = asked.since
	}
	macs[string(mac)] = true
	if b.parents == nil {
		b.parents = map[int]listed{}
	}
	b.parents[parent] = listed{since, macs}
	return has, nil
}
