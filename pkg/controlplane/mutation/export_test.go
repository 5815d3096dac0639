// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

// The bounds of what a program remembers.
const (
	MemoryEntries    = memoryEntries
	MemoryBytes      = memoryBytes
	MemoryEntryBytes = memoryEntryBytes
	MemoryGlances    = memoryGlances
)

// Forget makes the program remember nothing.
func (p *Program) Forget() { p.memory = newMemory() }

// Measured is what the outcomes take, measured again.
func (p *Program) Measured() (bytes int) {
	for _, k := range p.memory.outcomes {
		bytes += k.measure()
	}
	return bytes
}

// Remembered is how many outcomes the program remembers, and about how many bytes they take.
func (p *Program) Remembered() (entries, bytes int) {
	p.memory.lock.RLock()
	defer p.memory.lock.RUnlock()
	return len(p.memory.outcomes), p.memory.bytes
}
