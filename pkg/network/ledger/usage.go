// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

// Usage is what is taken of a pool.
type Usage struct {
	// Size is the number of addresses that are given by choice; 0 where the cloud chooses.
	Size uint64
	// Held and Resting are numbers of addresses, those that were asked for by name among them. What the pool could give and rows of other pools
	// are about counts as held.
	Held, Resting uint64
	// Families are what these sum up, as either family can be used up alone; none where the cloud chooses.
	Families []FamilyUsage
	// VLANs are how many each trunk has, and TakenVLANs how many of them are held or rest at the trunk that has the least left.
	VLANs, TakenVLANs int
	// Quotas are how many allocations count for each quota that is used.
	Quotas map[string]int
}

// FamilyUsage is what is taken of one family; the numbers are as in Usage.
type FamilyUsage struct {
	// Bits are the length of its addresses: 32 or 128.
	Bits                int
	Size, Held, Resting uint64
}

// Usage is what is taken of a pool; that of an unknown one is zero.
func (l *Ledger) Usage(pool string) Usage {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := l.pools[pool]
	if of == nil {
		return Usage{}
	}
	u := Usage{Quotas: map[string]int{}}
	for i, index := range of.indexes {
		bits := of.Subnets[i].Prefix.Addr().BitLen()
		resting := min(l.resting.addresses[family{pool, bits == 128}], index.Len())
		one := FamilyUsage{Bits: bits, Size: of.sizes[i], Held: index.Len() - resting, Resting: resting}
		u.Families = append(u.Families, one)
		u.Size, u.Held, u.Resting = u.Size+one.Size, u.Held+one.Held, u.Resting+one.Resting
	}
	if of.LastVLAN > 0 {
		u.VLANs = int(of.LastVLAN) - int(of.FirstVLAN) + 1
		for _, trunk := range l.vlans {
			u.TakenVLANs = max(u.TakenVLANs, trunk.Taken(of.FirstVLAN, of.LastVLAN))
		}
	}
	for key, count := range l.quotas.counts {
		if key.pool == pool {
			u.Quotas[key.name] = count
		}
	}
	return u
}
