// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package leak finds allocations with holders that no longer exist, because a release was lost, and optionally releases
// them.
//
// An address that is released too early gets two holders, so it is careful. An allocation is a suspect only if its
// holder was missing in two counts at least one period apart, both started after the allocation and known to be
// complete; and not before a grace period. Immediately before the release, it queries the holder once more. It ignores
// holders that it cannot query: unknown kinds, and servers that do not respond. A holder exists as long as its object
// does, in any state.
//
// It uses no clock and no client of its own: package kube counts objects in Kubernetes. Start reading at New.
package leak
