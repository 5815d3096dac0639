// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/textcache"

// Forget makes the program remember nothing.
func (p *Program) Forget() { p.cache = textcache.New() }

// Remembered is how many outcomes the program remembers, and about how many bytes they take.
func (p *Program) Remembered() (entries, bytes int) { return p.cache.Size() }
