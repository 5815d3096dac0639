// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

// Waiting returns how many jobs wait for a trunk.
func Waiting(c *Cloud, trunk string) int {
	c.lanes.mutex.Lock()
	defer c.lanes.mutex.Unlock()
	return len(c.lanes.waiting[trunk])
}

// AtRest reports whether nothing is done or waits for a trunk.
func AtRest(c *Cloud, trunk string) bool {
	c.lanes.mutex.Lock()
	defer c.lanes.mutex.Unlock()
	_, busy := c.lanes.waiting[trunk]
	return !busy
}
