// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package openstack is the cloud with ports of OpenStack Neutron as addresses. A port can be attached to the trunk of
// the node's NIC as a sub-port with a VLAN.
//
// The name of a port is derived from its allocation, so that each attempt finds the port of an earlier one; the
// description contains the owner. Ports with other names are never changed, except that sub-ports are added to a trunk.
// Start reading at Cloud.
package openstack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Options configure a cloud.
type Options struct {
	// Timeout is that of one bind or unbind. Default 30 s.
	Timeout time.Duration
	// Idle is how long a NIC without allocations keeps its warm ports. Default 10 min.
	Idle time.Duration
	// Clock is required.
	Clock clock.PassiveClock
	// Metrics may be nil.
	Metrics *Metrics
}

// DefaultTimeout is longer than that of other clouds: Neutron creates about five ports per second, and a call waits for
// earlier ones on the same trunk.
const DefaultTimeout = 30 * time.Second

// defaultIdle is longer than the pauses in the rollout of an application.
const defaultIdle = 10 * time.Minute

// rememberedVLANs is the number of released VLANs that are not reused as long as other ones are free.
const rememberedVLANs = 4096

// Cloud is a cloud.Cloud.
type Cloud struct {
	definition *Definition
	options    Options
	*session
	devices
	lanes lanes
	// released contains the VLANs that were released lately, as vlanOf.
	released  *lru.Cache
	sightings sightings
	pool      pool
}

// vlanOf is a VLAN of the trunk of a NIC.
type vlanOf struct {
	mac  string
	vlan int
}

// New returns the cloud. Credentials are read now, and OpenStack is called when something is bound. It fails if the
// credentials are unreadable.
func New(d *Definition, o Options) (*Cloud, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	if _, err := d.Credentials.read(); err != nil {
		return nil, err
	}
	c := &Cloud{
		definition: d, options: o, released: lru.New(rememberedVLANs),
		session: newSession(d.Credentials, &observer{metrics: o.Metrics, clock: o.Clock}),
	}
	c.devices = devices{c.session, o.Timeout, cache.NewLRUExpireCacheWithClock(rememberedDevices, o.Clock)}
	c.lanes = lanes{waiting: map[string][]*job{}, work: c.work}
	c.pool = pool{cloud: c, uses: map[string]*use{}}
	return c, nil
}

// Bind creates a port and attaches it; it continues an earlier incomplete attempt. It fails as cloud.Cloud describes.
func (c *Cloud) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	return c.do(ctx, a, false)
}

// Unbind detaches and deletes the ports of an allocation. It fails as cloud.Cloud describes.
func (c *Cloud) Unbind(ctx context.Context, a network.Allocation) error {
	_, err := c.do(ctx, a, true)
	return err
}

// do makes one bind or unbind.
func (c *Cloud) do(ctx context.Context, a network.Allocation, unbind bool) (network.Binding, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	return c.lanes.do(a.Trunk.MAC, &job{ctx: ctx, unbind: unbind, allocation: a, done: make(chan struct{})})
}

// work does a batch for one trunk, even if its callers have given up: Neutron may have received a request, and an owner
// that asks again needs its result.
func (c *Cloud) work(mac string, batch []*job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), c.options.Timeout)
	defer cancel()
	b := &work{cloud: c, mac: mac}
	var err error
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("a call of Neutron panicked: %v", recovered)
		}
		for _, j := range batch {
			j.end(network.Binding{}, err)
		}
	}()
	if b.neutron, err = c.neutron(ctx); err != nil {
		return
	}
	switch {
	case batch[0].refill:
		err = b.refill(ctx)
	case batch[0].unbind:
		err = b.unbind(ctx, batch)
	default:
		err = b.bind(ctx, batch)
	}
}

// digits is the length of the hash in names of ports.
const digits = 32

// portName returns the name of the port of an allocation. It is the same in all attempts for one allocation, and
// different when the owner gets another one after a release.
func (c *Cloud) portName(a network.Allocation) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", a.Owner, a.Since.UnixNano()))
	return c.definition.NamePrefix + "-" + hex.EncodeToString(sum[:digits/2])
}

// isOurs reports whether a name is one of portName.
func (c *Cloud) isOurs(name string) bool {
	hash, ok := strings.CutPrefix(name, c.definition.NamePrefix+"-")
	return ok && len(hash) == digits && strings.Trim(hash, "0123456789abcdef") == ""
}

// isWarm reports whether one of our ports is warm.
func (c *Cloud) isWarm(p ports.Port) bool {
	return strings.HasPrefix(p.Description, c.definition.NamePrefix+" "+warmContract+"/")
}

// maximumDescription limits the description of a port, in characters (neutron-lib: db/constants.py,
// DESCRIPTION_FIELD_SIZE).
const maximumDescription = 255

// description returns the description of the port of an allocation, which contains the owner.
func (c *Cloud) description(a network.Allocation) string {
	return cloud.Line(c.definition.NamePrefix+" "+a.Owner.String(), maximumDescription-1)
}
