// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package target defines the objects that Gardener's contract lets a provider mutate, their names in profiles, and the
// places of containers, metadata and storage in them. It does not know rules and must not read clusters. Start reading
// at Lookup, Match and Object.
package target
