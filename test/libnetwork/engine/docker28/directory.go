// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/docker/docker/libnetwork/discoverapi"
	"github.com/docker/docker/libnetwork/driverapi"
	"github.com/docker/docker/libnetwork/drivers/remote"
	"github.com/docker/docker/pkg/plugins"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// directory has the clients of remote drivers themselves, for calls that the controller makes only in a cluster.
type directory struct {
	once    sync.Once
	mutex   sync.Mutex
	drivers map[string]driverapi.Driver
}

// allocator is a driver in the view of a swarm's manager.
type allocator interface {
	NetworkAllocate(id string, options map[string]string, four, six []driverapi.IPAMData) (map[string]string, error)
	NetworkFree(id string) error
}

// RegisterDriver implements driverapi.Registerer.
func (d *directory) RegisterDriver(name string, driver driverapi.Driver, _ driverapi.Capability) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.drivers[name] = driver
	return nil
}

// find returns a driver's client, and loads it at first use.
func (d *directory) find(name string) (driver driverapi.Driver, err error) {
	d.once.Do(func() {
		d.drivers = map[string]driverapi.Driver{}
		err = remote.Register(d, nil)
	})
	if err != nil {
		return nil, err
	}
	if _, err := plugins.Get(name, driverapi.NetworkPluginEndpointType); err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.drivers[name] == nil {
		return nil, fmt.Errorf("no driver %s", name)
	}
	return d.drivers[name], nil
}

// Discover implements engine.Controller.
func (c *controller) Discover(_ context.Context, n engine.Notice) error {
	driver, err := c.directory.find(n.Driver)
	if err != nil {
		return err
	}
	known, ok := driver.(discoverapi.Discover)
	if !ok {
		return fmt.Errorf("the driver %s discovers nothing", n.Driver)
	}
	data := discoverapi.NodeDiscoveryData{Address: n.Address, BindAddress: n.Address, Self: n.Self}
	if n.Gone {
		return known.DiscoverDelete(discoverapi.NodeDiscovery, data)
	}
	return known.DiscoverNew(discoverapi.NodeDiscovery, data)
}

// Allocate implements engine.Controller.
func (c *controller) Allocate(_ context.Context, driver, id string, options map[string]string) (map[string]string,
	error) {
	found, err := c.directory.find(driver)
	if err != nil {
		return nil, err
	}
	known, ok := found.(allocator)
	if !ok {
		return nil, fmt.Errorf("the driver %s allocates nothing", driver)
	}
	return known.NetworkAllocate(id, options, nil, nil)
}

// Free implements engine.Controller.
func (c *controller) Free(_ context.Context, driver, id string) error {
	found, err := c.directory.find(driver)
	if err != nil {
		return err
	}
	known, ok := found.(allocator)
	if !ok {
		return fmt.Errorf("the driver %s allocates nothing", driver)
	}
	return known.NetworkFree(id)
}
