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

// claims has the exclusive resources of endpoints: addresses and MAC addresses in a network, and VLANs of a
// parent. They follow the rows; a row claims its resources before it is written.
type claims struct {
	mutex   sync.Mutex
	holders map[string]string
	// held has the resources of each endpoint.
	held map[string][]string
}

// follow updates the claims with an endpoint's row.
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

// take claims the resources of an endpoint instead of its previous ones: all of them or none. If one is taken,
// it returns the endpoint that has it.
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

// has reports whether an endpoint has a resource.
func (c *claims) has(thing string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.holders[thing] != ""
}

// addressThing returns the resource for an address in a network.
func addressThing(network string, address netip.Addr) string {
	return "the address " + address.String() + " in network " + network
}

// free drops the claims of an endpoint without a row.
func (c *claims) free(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.drop(key)
}

// things returns the exclusive resources of an endpoint.
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

// trunk returns the parent on which endpoints of a network have VLANs of their own, or "".
func trunk(s link.Spec) string {
	if s.Kind == link.VLAN {
		return s.Parent
	}
	return ""
}
