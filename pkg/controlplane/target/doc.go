// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package target knows which objects Gardener's contract lets a provider mutate, by which names profiles call them, and
// where in such an object its containers, metadata and storage are. It knows nothing of rules; it must not read clusters.
// Enter at Lookup, Match and Object.
package target
