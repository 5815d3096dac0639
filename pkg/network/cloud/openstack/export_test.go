// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import "github.com/gophercloud/gophercloud/v2"

// Waiting returns how many jobs wait for a trunk.
func Waiting(c *Cloud, trunk string) int {
	c.queues.mutex.Lock()
	defer c.queues.mutex.Unlock()
	return len(c.queues.waiting[trunk])
}

// Idle reports whether nothing is done or waits for a trunk.
func Idle(c *Cloud, trunk string) bool {
	c.queues.mutex.Lock()
	defer c.queues.mutex.Unlock()
	_, busy := c.queues.waiting[trunk]
	return !busy
}

// Login returns how credentials authenticate, the region, and whether certificates are not verified.
func Login(c Credentials) (auth gophercloud.AuthOptions, region string, insecure bool, err error) {
	read, err := c.read()
	if err != nil {
		return auth, "", false, err
	}
	return read.auth, read.endpoint.Region, read.tls.InsecureSkipVerify, nil
}
