// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import "hash/maphash"

// balance compares two sets of rows of things in a memory that does not grow with them: those that there are, and those that there should
// be, in any order. Rows share a fixed number of sums; where a sum is not 0, one of its rows is on one side only.
type balance struct {
	seed maphash.Seed
	sums []uint64
}

// sums are how many a balance has. Two MB of them part ten million allocations into hundreds of rows each.
const sums = 1 << 18

func newBalance() *balance { return &balance{seed: maphash.MakeSeed(), sums: make([]uint64, sums)} }

func (b *balance) sum(key string) *uint64 { return &b.sums[maphash.String(b.seed, key)%sums] }

func (b *balance) hash(key string, value []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(b.seed)
	_, _ = h.WriteString(key) // never fails
	_ = h.WriteByte(0)
	_, _ = h.Write(value)
	return h.Sum64()
}

// is notes a row that there is.
func (b *balance) is(key string, value []byte) { *b.sum(key) += b.hash(key, value) }

// should notes a row that there should be.
func (b *balance) should(key string, value []byte) { *b.sum(key) -= b.hash(key, value) }

// weigh notes a row on the sides that it is on.
func (b *balance) weigh(e Entry) {
	switch {
	case e.Record: // holds nothing
	case e.Allocation != nil:
		owned := place{owner: e.Owner}.encode()
		for _, key := range places(*e.Allocation) {
			b.should(key, owned)
		}
	case e.Until.IsZero():
		b.is(e.Key, e.Value)
	}
}

// suspect says whether something is wrong with a row, or with one that shares its sum.
func (b *balance) suspect(key string) bool { return *b.sum(key) != 0 }

// even says that both sets are the same.
func (b *balance) even() bool {
	for _, sum := range b.sums {
		if sum != 0 {
			return false
		}
	}
	return true
}
