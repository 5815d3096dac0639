// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package textcache remembers how rules changed the kubelet's two texts, so that the same rules need not parse the same
// texts again. It must not hold values of Secrets. Start reading at Cache.
package textcache

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// The limits of a cache.
const (
	// Entries limits the number of entries: one for each text in the OperatingSystemConfigs that a seed admits at a time.
	Entries = 1024
	// Bytes limits the size of all entries, in bytes: little next to the 128 MiB that the chart requests.
	Bytes = 8 << 20
	// EntryBytes limits the size of an entry, in bytes. Kubelet units and configurations take a few KiB.
	EntryBytes = 64 << 10
	// Candidates is the number of recent keys that are remembered. A result is cached when its key occurs again.
	Candidates = 256
	// overhead is about the size of an entry without its key and texts: the map's slot and the order of keys.
	overhead = 128
)

// Effect is the effect of consecutive rules on the texts.
type Effect struct {
	Edit target.KubeletEdit
	// Changed reports for each applied rule whether it changed a text.
	Changed []bool
}

// Cache holds effects by a key that contains the rules with their values and the texts. It drops the oldest effects
// first. It is safe for concurrent use (docs/decisions/0016-cache-of-kubelet-edits.md).
type Cache struct {
	seed maphash.Seed
	// candidates holds the hashes of recent keys, each at its remainder.
	candidates [Candidates]atomic.Uint64

	lock    sync.RWMutex
	effects map[string]*Effect
	order   []string // the keys, oldest first
	bytes   int
}

// New returns an empty cache.
func New() *Cache { return &Cache{seed: maphash.MakeSeed(), effects: map[string]*Effect{}} }

// Get returns the effect for a key, or nil.
func (c *Cache) Get(key []byte) *Effect {
	c.lock.RLock()
	defer c.lock.RUnlock()
	return c.effects[string(key)]
}

// Recurs reports whether the key was used recently. Results are kept only for such keys.
func (c *Cache) Recurs(key []byte) bool {
	hash := maphash.Bytes(c.seed, key)
	return c.candidates[hash%Candidates].Swap(hash) == hash
}

// Put keeps an effect unless it is too large.
func (c *Cache) Put(key []byte, r *Effect) {
	kept := string(key)
	size := sizeOf(kept, r)
	if size > EntryBytes {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.effects[kept] != nil {
		return // another admission was faster
	}
	for len(c.order) > 0 && (len(c.order) == Entries || c.bytes+size > Bytes) {
		oldest := c.order[0]
		c.bytes -= sizeOf(oldest, c.effects[oldest])
		delete(c.effects, oldest)
		c.order[0], c.order = "", c.order[1:]
	}
	c.effects[kept], c.order, c.bytes = r, append(c.order, kept), c.bytes+size
}

// Size returns the number of effects and about how many bytes they take.
func (c *Cache) Size() (entries, bytes int) {
	c.lock.RLock()
	defer c.lock.RUnlock()
	return len(c.effects), c.bytes
}

func sizeOf(key string, r *Effect) int { return overhead + len(key) + r.Edit.Bytes() + len(r.Changed) }

// Key appends what determines the effect of rules. Each part begins with its length, so that different parts never make
// the same key.
type Key []byte

var keys = sync.Pool{New: func() any { return new(Key) }}

// NewKey returns an empty key. Release must be called after its last use.
func NewKey() *Key { return keys.Get().(*Key) }

// Release returns the memory of the key to the pool.
func (k *Key) Release() {
	if cap(*k) <= EntryBytes {
		*k = (*k)[:0]
		keys.Put(k)
	}
}

// Texts adds the texts of the kubelet.
func (k *Key) Texts(t target.KubeletTexts) {
	k.bytes(t.Unit)
	k.bytes(t.Configuration)
}

// Rule begins a rule with its number in the program and the number of its steps.
func (k *Key) Rule(number, steps int) {
	*k = binary.AppendUvarint(*k, uint64(number))
	*k = binary.AppendUvarint(*k, uint64(steps))
}

// Step adds the value that a rule writes, or that a later rule writes instead.
func (k *Key) Step(overridden bool, value operation.Resolved) {
	flags := byte(0)
	if overridden {
		flags |= 1
	}
	if value.Absent {
		flags |= 2
	}
	*k = append(*k, flags)
	k.bytes(value.JSON)
	*k = binary.AppendUvarint(*k, uint64(len(value.Texts)))
	for _, text := range value.Texts {
		*k = append(binary.AppendUvarint(*k, uint64(len(text))), text...)
	}
}

func (k *Key) bytes(b []byte) { *k = append(binary.AppendUvarint(*k, uint64(len(b))), b...) }
