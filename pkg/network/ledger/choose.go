// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/allocator"
)

// chooseOne chooses for one owner and returns the changes of all rows but the owner's. Values of quotas that earlier owners of the request
// have changed are in counts.
func (r *reservation) chooseOne(ctx context.Context, i int, in Intent, counts map[string][]byte) ([]Change, error) {
	of := r.hints.pool(in.Pool)
	if of == nil {
		return nil, fmt.Errorf("%w %q", network.ErrUnknownPool, in.Pool)
	}
	c := &choice{reservation: r, in: in, pool: of, owned: resourceRow{owner: in.Owner}.encode()}
	c.a = network.Allocation{
		Owner: in.Owner, Pool: in.Pool, State: in.State, Since: in.Now.UTC(), Holder: in.Holder, Trunk: in.Trunk,
		Cloud: in.Cloud, Together: in.Together, Request: in.Request, Generation: r.generation(),
	}
	if in.State == network.Intended {
		c.a.Worker = r.Server()
	}
	steps := []func(context.Context) error{c.checkRelease, func(ctx context.Context) error { return c.count(ctx, counts) }, c.addresses, c.vlan, c.mac}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	r.all[i] = c.a
	return c.changes, nil
}

// choice holds the selected resources for one owner.
type choice struct {
	*reservation
	in   Intent
	pool *pool
	a    network.Allocation
	// owned is the value of the rows of its resources.
	owned   []byte
	changes []Change
	// reallocated is true if the previous owner gets an address that is in quarantine.
	reallocated bool
}

// claim adds the row of a resource. Chosen resources were marked as used in the hints.
func (c *choice) claim(key string, was []byte, chosen bool) {
	if chosen {
		c.chosen = append(c.chosen, key)
	}
	c.changes = append(c.changes, Change{Key: key, Was: was, Value: c.owned})
}

// checkRelease refuses a request that arrived before its owner was released. The commit compares the tombstone.
func (c *choice) checkRelease(context.Context) error {
	row, released := c.hints.tombstone(c.in.Owner)
	arrived := c.in.Arrived
	if arrived.IsZero() {
		arrived = c.in.Now
	}
	if row != nil && arrived.Before(released) {
		return fmt.Errorf("%w at %s, after this request had arrived", network.ErrReleased, released.Format(time.RFC3339))
	}
	c.changes = append(c.changes, Change{Key: tombstoneKey(c.in.Owner), Was: row})
	return nil
}

// addresses takes the requested addresses and chooses one of each other family.
func (c *choice) addresses(ctx context.Context) error {
	named := map[int]bool{}
	for _, address := range c.in.Addresses {
		i, err := c.pool.subnet(address)
		if err != nil {
			return err
		}
		if named[i] {
			return fmt.Errorf("%w: the request has two addresses of one family", network.ErrOutside)
		}
		named[i] = true
		if err := c.takeNamed(ctx, address); err != nil {
			return err
		}
		c.a.Addresses = append(c.a.Addresses, address)
	}
	for i, subnet := range c.pool.Subnets {
		if named[i] || !c.in.wantsFamily(subnet.Prefix.Addr().BitLen()) {
			continue
		}
		if err := c.chooseAddress(ctx, i, subnet); err != nil {
			return err
		}
	}
	if len(c.a.Addresses) == 0 && len(c.pool.Subnets) > 0 {
		return fmt.Errorf("%w: the pool %s has no subnet of the family", network.ErrOutside, c.pool.Name)
	}
	return nil
}

func (in Intent) wantsFamily(family int) bool {
	return in.Families == nil || slices.Contains(in.Families, family)
}

// takeNamed takes an address that is requested by name; its row decides.
func (c *choice) takeNamed(ctx context.Context, address netip.Addr) error {
	key := addressKey(c.pool.Name, address)
	raw, err := c.store.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	c.hints.mutex.Lock()
	outside := len(c.hints.outside[address]) > 0
	c.hints.mutex.Unlock()
	if outside {
		return fmt.Errorf("%w: %s", network.ErrTaken, address)
	}
	if raw != nil {
		p, err := parseResourceRow(raw)
		switch {
		case err == nil && p.until.IsZero() && p.owner == c.in.Owner:
			return ErrConflict // another server has allocated it to the owner since its row was read
		case err != nil, p.until.IsZero():
			return fmt.Errorf("%w: %s", network.ErrTaken, address)
		}
		if p.until = c.limit(p.until); !c.in.mayTake(p) {
			return quarantineError(address, p.until)
		}
		c.reallocated = c.reallocated || c.in.isPrevious(p.owner)
	}
	c.claim(key, raw, false)
	return nil
}

// limit returns a time, or the latest at which a quarantine of the pool can end if a clock was wrong.
func (c *choice) limit(until time.Time) time.Time {
	if latest := c.in.Now.Add(c.pool.Quarantine); c.pool.Quarantine > 0 && until.After(latest) {
		return latest
	}
	return until
}

// mayTake reports whether a resource in quarantine may be taken already.
func (in Intent) mayTake(p resourceRow) bool {
	return !p.until.After(in.Now) || in.isPrevious(p.owner) || in.Preempt && (p.owner.Contract == in.Owner.Contract || p.owner.Contract == "")
}

// isPrevious reports whether the intent may request the addresses of an owner during their quarantine.
func (in Intent) isPrevious(last network.Owner) bool {
	previous := last.Key == in.PreviousOwner || strings.HasSuffix(in.PreviousOwner, "/") && strings.HasPrefix(last.Key, in.PreviousOwner)
	return in.PreviousOwner != "" && previous && last.Contract == in.Owner.Contract
}

// quarantineError returns the error for an address in quarantine.
func quarantineError(address netip.Addr, until time.Time) error {
	return fmt.Errorf("%w: %s, which is in quarantine until %s after its release", network.ErrTaken, address, until.UTC().Format(time.RFC3339))
}

// chooseAddress chooses an address of a family that the hints say is free. If there is none, the hints are corrected first.
func (c *choice) chooseAddress(ctx context.Context, i int, subnet Subnet) error {
	for corrected := false; ; corrected = true {
		c.hints.mutex.Lock()
		address, ok := c.pool.indexes[i].Choose()
		c.hints.mutex.Unlock()
		if ok {
			c.a.Addresses = append(c.a.Addresses, address)
			c.claim(addressKey(c.pool.Name, address), nil, true)
			return nil
		}
		if corrected {
			return noAddress(c.pool.Name, subnet.Prefix)
		}
		if _, err := c.Expire(ctx, c.in.Now); err != nil {
			return errors.Join(noAddress(c.pool.Name, subnet.Prefix), err)
		}
	}
}

// noAddress returns the error of a pool without free addresses.
func noAddress(pool string, part netip.Prefix) error {
	return &network.Exhausted{Pool: pool, Of: network.OfFamily(part.Addr().BitLen()), Text: fmt.Sprintf("the pool %s has no free address in %s", pool, part)}
}

// vlan takes the VLAN that went with an address of the same owner, or chooses one.
func (c *choice) vlan(context.Context) error {
	if c.pool.LastVLAN == 0 {
		return nil
	}
	c.hints.mutex.Lock()
	defer c.hints.mutex.Unlock()
	for id := c.pool.FirstVLAN; c.reallocated && id <= c.pool.LastVLAN; id++ {
		key := vlanKey(c.in.Trunk, id)
		if row, quarantined := c.hints.expiring[key]; quarantined && c.in.isPrevious(row.last) {
			c.a.VLAN = id
			c.claim(key, row.row, false)
			return nil
		}
	}
	id, ok := c.hints.trunk(c.in.Trunk).Choose(c.pool.FirstVLAN, c.pool.LastVLAN)
	if !ok {
		return c.noVLAN()
	}
	c.a.VLAN = id
	c.claim(vlanKey(c.in.Trunk, id), nil, true)
	return nil
}

// noVLAN returns the error of a trunk without a free VLAN. It contains the number of VLANs in quarantine.
func (c *choice) noVLAN() error {
	quarantined := 0
	for id := c.pool.FirstVLAN; id <= c.pool.LastVLAN; id++ {
		if _, is := c.hints.expiring[vlanKey(c.in.Trunk, id)]; is {
			quarantined++
		}
	}
	where := ""
	if c.in.Trunk.MAC != "" {
		where += " on the interface " + c.in.Trunk.MAC
	}
	if c.in.Trunk.Node != "" {
		where += " of the node " + c.in.Trunk.Node
	}
	return &network.Exhausted{
		Pool: c.pool.Name, Of: network.OfVLAN, Text: fmt.Sprintf("all VLANs of the pool %s are used%s; %d of them are in quarantine", c.pool.Name, where, quarantined),
	}
}

// mac derives a MAC address from the first address: the first one, starting with that of the attempt, that neither
// another owner of the request has nor is in quarantine. The commit detects all other conflicts.
func (c *choice) mac(context.Context) error {
	if len(c.pool.MACPrefix) == 0 || len(c.a.Addresses) == 0 {
		return nil
	}
	for further := range maximumAttempts {
		mac := network.HardwareAddr(allocator.MAC(c.pool.MACPrefix, c.a.Addresses[0], c.conflicts()+further))
		if slices.ContainsFunc(c.all, func(a network.Allocation) bool { return bytes.Equal(a.MAC, mac) }) {
			continue
		}
		c.hints.mutex.Lock()
		row, quarantined := c.hints.expiring[macKey(mac)]
		c.hints.mutex.Unlock()
		if quarantined && !c.in.isPrevious(row.last) && row.due.After(c.in.Now) {
			continue
		}
		c.a.MAC = mac
		c.claim(macKey(mac), row.row, false)
		return nil
	}
	return fmt.Errorf("%w: %d MAC addresses for %s", network.ErrTaken, maximumAttempts, c.a.Addresses[0])
}
