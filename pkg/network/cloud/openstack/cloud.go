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
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Options configure a cloud.
type Options struct {
	// Timeout limits one bind or unbind. Default 30 s.
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

// DRANET repeatedly requests the attributes of each device of each node. This many descriptions are cached for a
// minute.
const (
	rememberedNICs = 4096
	rememberedFor  = time.Minute
)

// Cloud is a cloud.Cloud.
type Cloud struct {
	definition *Definition
	options    Options
	*session
	queues queues
	// nics remembers the descriptions of NICs, by MAC address.
	nics *cache.LRUExpireCache
	// released contains the VLANs that were released lately, as vlanOf.
	released *lru.Cache
	pool     warmPool
	// seen contains the times at which ports without an allocation were first seen, by ID; searching guards it.
	searching sync.Mutex
	seen      map[string]time.Time
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
		nics: cache.NewLRUExpireCacheWithClock(rememberedNICs, o.Clock),
		session: &session{
			credentials: d.Credentials, observer: &observer{metrics: o.Metrics, clock: o.Clock}, turn: semaphore.NewWeighted(1),
		},
	}
	c.queues = queues{waiting: map[string][]*job{}, work: c.processBatch}
	c.pool = warmPool{c, cache.NewLRUExpireCacheWithClock(rememberedNICs, o.Clock)}
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

// do waits until a bind or unbind is done, or its context.
func (c *Cloud) do(ctx context.Context, a network.Allocation, unbind bool) (network.Binding, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	j := &job{ctx: ctx, unbind: unbind, allocation: a, done: make(chan struct{})}
	c.queues.add(a.Trunk.MAC, j)
	select {
	case <-j.done:
		return j.binding, j.err
	case <-ctx.Done():
		return network.Binding{}, fmt.Errorf("waiting for Neutron: %w", ctx.Err())
	}
}

// Describe implements cloud.Describer with the port that has the MAC address, its network and its subnets.
func (c *Cloud) Describe(ctx context.Context, mac string) (cloud.Description, error) {
	mac = strings.ToLower(mac)
	if known, ok := c.nics.Get(mac); ok {
		return known.(cloud.Description), nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	n, err := c.neutron(ctx)
	if err != nil {
		return cloud.Description{}, err
	}
	found, err := n.parents(ctx, mac)
	var made cloud.Description
	if err == nil && len(found) == 1 {
		made, err = describeNIC(ctx, n, found[0])
	} else if err == nil && len(found) > 1 {
		err = fmt.Errorf("%d ports have the MAC address %s", len(found), mac)
	}
	if err == nil {
		c.nics.Add(mac, made, rememberedFor)
	}
	return made, err
}

// processBatch processes a batch for one trunk, even if its callers have given up: Neutron may have received a request,
// and an owner that repeats it needs the result.
func (c *Cloud) processBatch(mac string, batch []*job) {
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
		err = cmp.Or(b.bind(ctx, batch), errUnfinished)
	}
}

// portName returns the name of the port of an allocation. It is the same in all attempts for one allocation, and
// different when the owner gets another one after a release.
func (c *Cloud) portName(a network.Allocation) string {
	return c.definition.NamePrefix + "-" + cloud.Identity(a)
}

// isOurs reports whether a name is one of portName.
func (c *Cloud) isOurs(name string) bool {
	hash, ok := strings.CutPrefix(name, c.definition.NamePrefix+"-")
	return ok && len(hash) == 32 && strings.Trim(hash, "0123456789abcdef") == ""
}

// isWarm reports whether one of our ports is warm.
func (c *Cloud) isWarm(p ports.Port) bool {
	return strings.HasPrefix(p.Description, c.definition.NamePrefix+" "+warmContract+"/")
}

// maximumDescription limits the description of a port, in bytes; Neutron counts characters (neutron-lib: db/constants.py,
// DESCRIPTION_FIELD_SIZE).
const maximumDescription = 255

// description returns the description of the port of an allocation, which contains the owner.
func (c *Cloud) description(a network.Allocation) string {
	return serving.Line(c.definition.NamePrefix+" "+a.Owner.String(), maximumDescription-1)
}

// maximumBatch limits the jobs of one batch. Neutron gets slower with larger requests.
const maximumBatch = 10

// job is one bind or unbind that waits for its turn.
type job struct {
	ctx    context.Context
	unbind bool
	// refill is set for a change of warm ports, without an allocation. It waits until there is nothing else to do.
	refill     bool
	allocation network.Allocation
	done       chan struct{}
	// port and vlan are the port and the VLAN that a bind has found or created so far.
	port *ports.Port
	vlan int
	// binding and err are set before done is closed.
	binding network.Binding
	err     error
}

// end finishes a job; a second call is ignored.
func (j *job) end(binding network.Binding, err error) {
	select {
	case <-j.done:
	default:
		j.binding, j.err = binding, err
		close(j.done)
	}
}

// queues serialize the work for each trunk, because Neutron locks a trunk while it changes. Jobs that wait for the same
// trunk are done together.
type queues struct {
	mutex   sync.Mutex
	waiting map[string][]*job
	// work does a batch, and ends each of its jobs.
	work func(trunk string, batch []*job)
}

// add queues a job.
func (q *queues) add(trunk string, j *job) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	_, busy := q.waiting[trunk]
	q.waiting[trunk] = append(q.waiting[trunk], j)
	if !busy {
		go q.run(trunk)
	}
}

// busy reports whether jobs wait for a trunk.
func (q *queues) busy(trunk string) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.waiting[trunk]) > 0
}

// gatherTime is the wait for further jobs before the first batch. The Pods of a rollout arrive together, and Neutron
// creates ten ports in five times the time of one.
const gatherTime = 10 * time.Millisecond

// run waits for gatherTime, and then does batches until no job waits.
func (q *queues) run(trunk string) {
	time.Sleep(gatherTime)
	for batch := q.next(trunk); batch != nil; batch = q.next(trunk) {
		q.work(trunk, batch)
	}
}

// next returns the jobs of the next batch, all of the same kind, or nil. It omits jobs whose callers have given up:
// nothing has been sent for them.
func (q *queues) next(trunk string) (batch []*job) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	waiting := slices.DeleteFunc(q.waiting[trunk], func(j *job) bool { return j.ctx.Err() != nil })
	rest, first := waiting[:0:0], max(0, slices.IndexFunc(waiting, func(j *job) bool { return !j.refill }))
	for _, j := range waiting {
		if len(batch) < maximumBatch && j.unbind == waiting[first].unbind && j.refill == waiting[first].refill {
			batch = append(batch, j)
		} else {
			rest = append(rest, j)
		}
	}
	if q.waiting[trunk] = rest; batch == nil {
		delete(q.waiting, trunk)
	}
	return batch
}
