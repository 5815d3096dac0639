// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

// Forget makes the program remember nothing.
func (p *Program) Forget() { p.cache = newKubeletCache() }

// Remembered is how many outcomes the program remembers.
func (p *Program) Remembered() int { return p.cache.effects.Len() }
