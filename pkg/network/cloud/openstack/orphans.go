// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Settle returns the time after the start of a bind or unbind during which it may still take effect although its answer
// was lost: a batch may begin at the timeout of its first job, and end at that of its last one.
func Settle(timeout time.Duration) time.Duration { return 3 * timeout }

// sightings are the times at which ports without an allocation were first seen, by ID.
type sightings struct {
	mutex sync.Mutex
	since map[string]time.Time
}

// update replaces the ports, and returns those that were first seen so long ago.
func (s *sightings) update(all []ports.Port, now time.Time, age time.Duration) (old []ports.Port) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	next := map[string]time.Time{}
	for _, p := range all {
		since, seen := s.since[p.ID]
		if !seen {
			since = now
		}
		if next[p.ID] = since; seen && now.Sub(since) >= age {
			old = append(old, p)
		}
	}
	s.since = next
	return old
}

// The number of orphans that are always deleted, and the share of all ports of this installation, in percent. If more
// are orphans, it is probably the wrong ledger, such as an old copy.
const (
	alwaysRemoved = 8
	mostRemoved   = 50
)

// Orphans implements cloud.Lister. It assigns a port to an allocation by its name, and ignores the description.
func (c *Cloud) Orphans(ctx context.Context, allocations cloud.Allocations, remove bool) ([]cloud.Orphan, error) {
	n, err := c.neutron(ctx)
	if err != nil {
		return nil, err
	}
	const page = "500"
	ours, err := n.listPorts(ctx, query{"network_id": {c.definition.NetworkID}, "limit": {page}})
	if err != nil {
		return nil, err
	}
	ours = slices.DeleteFunc(ours, func(p ports.Port) bool { return !c.isOurs(p.Name) })
	// An allocation is written before its port is created, so that the rows are read after the ports.
	held := map[string]bool{}
	err = allocations(ctx, func(a network.Allocation) error {
		held[c.portName(a)] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	total := len(ours)
	without := slices.DeleteFunc(ours, func(p ports.Port) bool { return held[p.Name] })
	old := c.sightings.update(without, c.options.Clock.Now(), Settle(c.options.Timeout))
	orphans := make([]cloud.Orphan, len(old))
	for i, p := range old {
		orphans[i] = c.orphan(p)
	}
	switch {
	case !remove || len(old) == 0:
		return orphans, nil
	case len(old) > alwaysRemoved && len(old)*100 > total*mostRemoved:
		const message = "%d of %d ports in Neutron are of no allocation, which are too many to delete them: check that this is the " +
			"right ledger, and that no other installation has the namePrefix %s"
		return orphans, fmt.Errorf(message, len(old), total, c.definition.NamePrefix)
	}
	return orphans, removeOrphans(ctx, n, orphans)
}

// orphan returns a port for the caller. The owner is the zero Owner if the description was changed or has been shortened.
func (c *Cloud) orphan(p ports.Port) cloud.Orphan {
	o := cloud.Orphan{ID: p.ID}
	if owner, ok := strings.CutPrefix(p.Description, c.definition.NamePrefix+" "); ok {
		o.Owner, _ = network.ParseOwner(owner) // a description that was changed names no owner
	}
	for _, fixed := range p.FixedIPs {
		if address, err := netip.ParseAddr(fixed.IPAddress); err == nil {
			o.Addresses = append(o.Addresses, address)
		}
	}
	return o
}

// removeOrphans detaches and deletes ports.
func removeOrphans(ctx context.Context, n neutron, orphans []cloud.Orphan) error {
	attached, err := n.listSubports(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for i, o := range orphans {
		var err error
		if trunk := attached[o.ID]; trunk != "" {
			err = n.removeSubports(ctx, trunk, o.ID)
		}
		if err == nil {
			err = n.deletePort(ctx, o.ID)
		}
		orphans[i].Removed = err == nil
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
