// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// meetings finds addresses that are held under two pools. The first look notes each in one of a fixed number of bits, and remembers the bits
// that were there already: those of an address that is held twice, and of few others that share a bit. The second looks at these alone.
type meetings struct {
	seed maphash.Seed
	bits []uint64
	// twice are the bits that are to be looked at, and under the first pool that was found with each of their addresses.
	twice map[uint32]struct{}
	under map[netip.Addr]string
}

// meetingBits are how many there are, in 16 MB; of a million addresses some thousands share one.
const meetingBits = 1 << 27

func newMeetings() *meetings {
	return &meetings{seed: maphash.MakeSeed(), bits: make([]uint64, meetingBits/64), twice: map[uint32]struct{}{}, under: map[netip.Addr]string{}}
}

func (m *meetings) bit(address netip.Addr) uint32 {
	return uint32(maphash.Comparable(m.seed, address) % meetingBits)
}

func (m *meetings) note(e Entry) {
	if !e.holdsAddress() {
		return
	}
	bit := m.bit(e.Thing.Address)
	word, mask := &m.bits[bit/64], uint64(1)<<(bit%64)
	if *word&mask != 0 {
		m.twice[bit] = struct{}{}
	}
	*word |= mask
}

// holdsAddress says that the row is that of an address which somebody has.
func (e Entry) holdsAddress() bool {
	return e.Allocation == nil && !e.Record && e.Until.IsZero() && e.Thing.Address.IsValid()
}

// choseCloud says that a cloud has chosen an address that an owner has.
func (v *verifier) choseCloud(ctx context.Context, owner network.Owner, address netip.Addr) bool {
	raw, err := v.store.Get(ctx, ownerKey(owner))
	if err != nil || raw == nil {
		return false
	}
	a, err := decode(raw)
	return err == nil && slices.ContainsFunc(a.Binding.Addresses, func(p netip.Prefix) bool { return p.Addr() == address })
}

// meet looks at a row of which the first look has found that its address may be held under two pools.
func (v *verifier) meet(ctx context.Context, e Entry, broken *BrokenRow) error {
	if broken == nil && e.holdsAddress() {
		address := e.Thing.Address
		if _, twice := v.meetings.twice[v.meetings.bit(address)]; twice {
			if first, met := v.meetings.under[address]; met {
				return v.meeting(ctx, e, first)
			}
			v.meetings.under[address] = e.Thing.Pool
		}
	}
	return nil
}

// meeting sees that an address is still held under two pools, of which the first one is named.
func (v *verifier) meeting(ctx context.Context, e Entry, first string) error {
	address := e.Thing.Address
	raw, err := v.store.Get(ctx, addressKey(first, address))
	if err != nil {
		return err
	}
	other, broken := parsePlace(raw)
	if broken != nil || !other.until.IsZero() {
		return nil //nolint:nilerr // it was released meanwhile, or is told already
	}
	if same, err := v.unchanged(ctx, e); err != nil || !same {
		return err
	}
	if v.choseCloud(ctx, e.Owner, address) && v.choseCloud(ctx, other.owner, address) {
		return nil // the clouds know whether they are of one network
	}
	return v.add(Fault{Key: e.Key, Problem: fmt.Sprintf("%s has %s, and %s has it of the pool %s", e.Owner, e.Thing, other.owner, first),
		Remedy: "two may use it: find out who does, and release the other with `graft ledger release`"})
}
