// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// warmContract is the contract in the owners of warm ports.
const warmContract = "warm"

// warmPool sizes the warm ports of each NIC by the allocations from this server. A warm port is a bound port of an owner
// that does not exist. An allocation takes it by changing its name, which Neutron allows once for each revision of a
// port. The ports are stored in Neutron only.
type warmPool struct {
	cloud *Cloud
	// uses counts the allocations on each NIC, by MAC address, until there are none for a while.
	uses *cache.LRUExpireCache
}

// slots returns jobs that bind the first warm ports of a NIC. Ports with other settings have other owners.
func (p *warmPool) slots(mac string, count int) []*job {
	d := p.cloud.definition
	settings := fmt.Appendf(nil, "%s %q %q %q", d.NetworkID, d.SubnetIDs, d.SecurityGroupIDs, d.AllowedAddressPairs)
	sum := sha256.Sum256(settings)
	all := make([]*job, count)
	for i := range all {
		a := warmAllocation(fmt.Sprintf("%s/%x/%d", mac, sum[:4], i))
		all[i] = &job{refill: true, allocation: a, done: make(chan struct{})}
	}
	return all
}

func warmAllocation(key string) network.Allocation {
	return network.Allocation{Owner: network.Owner{Contract: warmContract, Key: key}, Since: time.Unix(0, 0)}
}

// add counts allocations on a NIC, and queues the creation of warm ports for the next ones. When there are none for a
// while, it queues their deletion. It is called for one batch of a NIC at a time.
func (p *warmPool) add(mac string, count int) {
	if before, used := p.uses.Get(mac); used {
		count += before.(int)
	}
	p.uses.Add(mac, count, p.cloud.options.Idle)
	p.resize(mac)
	time.AfterFunc(p.cloud.options.Idle, func() {
		if p.want(mac) == 0 {
			p.resize(mac)
		}
	})
}

// resize queues the creation or deletion of warm ports.
func (p *warmPool) resize(mac string) {
	p.cloud.queues.add(mac, &job{ctx: context.Background(), refill: true, done: make(chan struct{})})
}

// want returns how many warm ports a NIC needs: as many as it had allocations, within the limit, and with at most half of
// the VLANs.
func (p *warmPool) want(mac string) int {
	count, used := p.uses.Get(mac)
	if !used {
		return 0
	}
	t := p.cloud.definition.Trunk
	return min(count.(int), t.Warm, (t.LastVLAN-t.FirstVLAN+1)/2)
}

// heldPorts returns the names of the warm ports that this server has on NICs with recent allocations.
func (p *warmPool) heldPorts() map[string]bool {
	names := map[string]bool{}
	for _, mac := range p.uses.Keys() {
		for _, j := range p.slots(mac.(string), p.cloud.definition.Trunk.Warm) {
			names[p.cloud.portName(j.allocation)] = true
		}
	}
	return names
}

// isChanged reports whether an update failed because another server has changed or deleted the port.
func isChanged(err error) bool {
	return slices.Contains([]int{http.StatusPreconditionFailed, http.StatusNotFound}, statusOf(err))
}

// refill creates the missing warm ports, as long as no other job waits, or deletes them if none are needed.
func (w *work) refill(ctx context.Context) error {
	want := w.cloud.pool.want(w.mac)
	if want == 0 {
		return w.removeWarm(ctx)
	}
	for batch := range slices.Chunk(w.cloud.pool.slots(w.mac, want), maximumBatch) {
		if w.cloud.queues.busy(w.mac) {
			return nil
		}
		if err := w.bind(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// removeWarm deletes some of the warm ports, and queues the rest. If that fails, it is repeated later.
func (w *work) removeWarm(ctx context.Context) error {
	warm, err := w.listWarm(ctx)
	if err == nil {
		_, err = w.cloud.remove(ctx, w.neutron, warm[:min(len(warm), maximumBatch)])
	}
	if err != nil {
		time.AfterFunc(w.cloud.options.Idle, func() { w.cloud.pool.resize(w.mac) })
	} else if len(warm) > maximumBatch {
		w.cloud.pool.resize(w.mac)
	}
	return err
}

// listWarm returns the warm ports of the NIC.
func (w *work) listWarm(ctx context.Context) (warm []ports.Port, err error) {
	owned, err := w.owned(ctx, w.cloud.pool.slots(w.mac, w.cloud.definition.Trunk.Warm))
	for _, found := range owned {
		warm = append(warm, found...)
	}
	return warm, err
}

// takeWarm assigns warm ports to allocations. It returns the jobs that need new ports.
func (w *work) takeWarm(ctx context.Context, t *trunk, missing []*job) []*job {
	w.cloud.pool.add(w.mac, len(missing))
	warm, err := w.listWarm(ctx)
	if err != nil {
		return missing
	}
	warm = slices.DeleteFunc(warm, func(p ports.Port) bool { return t.vlans[p.ID] == 0 || p.RevisionNumber == 0 })
	return slices.DeleteFunc(missing, func(j *job) bool {
		for len(warm) > 0 && len(j.allocation.MAC) == 0 && j.allocation.VLAN == 0 {
			err := w.take(ctx, warm[0], j)
			if warm = warm[1:]; isChanged(err) {
				continue
			}
			if status := statusOf(err); status > 0 && status < http.StatusInternalServerError {
				return false // Neutron decides again about a new port
			}
			if err != nil {
				j.end(network.Binding{}, err)
			}
			return true
		}
		return false
	})
}

// take assigns a warm port to an allocation.
func (w *work) take(ctx context.Context, p ports.Port, j *job) (err error) {
	o := w.options(j.allocation)
	change := ports.UpdateOpts{Name: &o.Name, Description: &o.Description, RevisionNumber: &p.RevisionNumber}
	if len(j.allocation.Addresses) > 0 {
		change.FixedIPs = o.FixedIPs
	}
	taken, err := w.updatePort(ctx, p.ID, change)
	if err == nil {
		j.port = taken
	}
	return err
}
