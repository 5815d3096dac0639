// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"net/netip"
	"strconv"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// claims are what endpoints have that no other may have: addresses and MAC addresses in their network, VLANs of a parent. They follow the rows; what
// is not written yet is claimed beforehand.
type claims struct {
	mutex   sync.Mutex
	holders map[string]string
	// held are the things by endpoint.
	held map[string][]string
}

// follow is told of each row of an endpoint.
func (c *claims) follow(key string, row *endpointRow) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drop(key)
	if row != nil {
		c.hold(key, row.things())
	}
}

func (c *claims) drop(key string) {
	for _, thing := range c.held[key] {
		if c.holders[thing] == key {
			delete(c.holders, thing)
		}
	}
	delete(c.held, key)
}

func (c *claims) hold(key string, things []string) {
	if c.holders == nil {
		c.holders, c.held = map[string]string{}, map[string][]string{}
	}
	for _, thing := range things {
		c.holders[thing] = key
	}
	c.held[key] = things
}

// take claims things for an endpoint in place of those that it has: all of them, or none, and then it says which endpoint has one of them.
func (c *claims) take(key string, things []string) (holder, thing string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, thing := range things {
		if holder := c.holders[thing]; holder != "" && holder != key {
			return holder, thing
		}
	}
	c.drop(key)
	c.hold(key, things)
	return "", ""
}

// has says whether an endpoint has a thing.
func (c *claims) has(thing string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.holders[thing] != ""
}

// addressThing is an address in a network, as a thing.
func addressThing(network string, address netip.Addr) string {
	return "the address " + address.String() + " in network " + network
}

// free ends the claims of an endpoint that has no row.
func (c *claims) free(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drop(key)
}

// things are what an endpoint has that no other may have.
func (r endpointRow) things() []string {
	var things []string
	for _, address := range r.Addresses {
		things = append(things, addressThing(r.Network, address.Addr()))
	}
	if len(r.MAC) > 0 {
		things = append(things, "the MAC address "+r.MAC.String()+" in network "+r.Network)
	}
	if r.Trunk != "" {
		things = append(things, "the VLAN "+strconv.Itoa(int(r.VLAN))+" of "+r.Trunk)
	}
	return things
}

// trunk is the parent on which an endpoint of a network has a VLAN of its own; empty: none.
func trunk(s link.Spec) string {
	if s.Kind == link.VLAN {
		return s.Parent
	}
	return ""
}
