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

// busyFor is the time for which a list of MAC addresses is cached.
const busyFor = time.Second

// busy caches the MAC addresses of interfaces on parents. The kernel can only list all of a parent, which takes
// longer with their number. So the list is read at most once per busyFor, and for a repeated address. Addresses
// that another program adds in between are missed, but the kernel rejects duplicates.
type busy struct {
	mutex   sync.Mutex
	parents map[int]listed
}

// listed has the MAC addresses of a parent, including those requested since.
type listed struct {
	since time.Time
	macs  map[string]bool
}

// has reports whether an interface on a parent has a MAC address, and records that the caller will use it.
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
	if asked := b.parents[parent]; asked.macs != nil { // the previous caller may not have used the address yet
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
