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
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Settle returns the time after the start of a bind or unbind during which it may still take effect although its answer
// was lost: a batch may begin at the timeout of its first job, and end at that of its last one.
func Settle(timeout time.Duration) time.Duration { return 3 * timeout }

// The number of orphans that are always deleted, and the share of all ports of this installation, in percent. If more
// are orphans, it is probably the wrong ledger, such as an old copy.
const (
	alwaysRemoved = 8
	mostRemoved   = 50
)

// Orphans implements cloud.Lister. It assigns a port to an allocation by its name, and ignores the description. Warm
// ports are no orphans, but those of other servers are also deleted, when nothing has taken them for long.
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
	held := c.pool.heldPorts()
	err = allocations(ctx, func(a network.Allocation) error {
		held[c.portName(a)] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	old := c.age(slices.DeleteFunc(slices.Clone(ours), func(p ports.Port) bool { return held[p.Name] }))
	total, lost := len(slices.DeleteFunc(ours, c.isWarm)), slices.DeleteFunc(slices.Clone(old), c.isWarm)
	orphans := make([]cloud.Orphan, len(lost))
	for i, p := range lost {
		orphans[i] = c.orphan(p)
	}
	switch {
	case !remove || len(old) == 0:
		return orphans, nil
	case len(lost) > alwaysRemoved && len(lost)*100 > total*mostRemoved:
		const message = "%d of %d ports in Neutron have no allocation, which is too many to delete them: check that this is the " +
			"right ledger, and that no other installation has the namePrefix %s"
		return orphans, fmt.Errorf(message, len(lost), total, c.definition.NamePrefix)
	}
	removed, err := c.remove(ctx, n, old)
	for i, o := range orphans {
		orphans[i].Removed = removed[o.ID]
	}
	return orphans, err
}

// age notes when ports without an allocation were first seen, and returns those that were seen so long ago that no
// earlier bind may still use them.
func (c *Cloud) age(without []ports.Port) (old []ports.Port) {
	c.searching.Lock()
	defer c.searching.Unlock()
	now, before := c.options.Clock.Now(), c.seen
	c.seen = map[string]time.Time{}
	for _, p := range without {
		least := Settle(c.options.Timeout)
		if c.isWarm(p) {
			least += c.options.Idle
		}
		since, seen := before[p.ID]
		if !seen {
			since = now
		} else if now.Sub(since) >= least {
			old = append(old, p)
		}
		c.seen[p.ID] = since
	}
	return old
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

// remove detaches and deletes ports, and returns the IDs of those that it has deleted. It renames each one first, so that
// no server takes a warm port at the same time.
func (c *Cloud) remove(ctx context.Context, n neutron, all []ports.Port) (map[string]bool, error) {
	attached, err := n.listSubports(ctx)
	if err != nil {
		return nil, err
	}
	removed, problems := map[string]bool{}, []error(nil)
	for _, p := range all {
		name := c.portName(warmAllocation(p.ID))
		_, err := n.updatePort(ctx, p.ID, ports.UpdateOpts{Name: &name, RevisionNumber: &p.RevisionNumber})
		if isChanged(err) {
			continue
		}
		if trunk := attached[p.ID]; trunk != "" && err == nil {
			err = n.removeSubports(ctx, trunk, p.ID)
		}
		if err == nil {
			err = n.deletePort(ctx, p.ID)
		}
		removed[p.ID] = err == nil
		problems = append(problems, err)
	}
	return removed, errors.Join(problems...)
}
