// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package crash kills graft-network-provider at every step of an allocation and of a release, and checks that no
// address has two owners and none is lost. The steps are visible from outside: sent requests, calls that the cloud has
// received, executed and answered, the start, and reloaded profiles. Commits between them are hit by chance. The
// program answers DRANET's claims (owner) and Spiderpool's Pods (pod) on one ledger. A rack represents the part of
// Spiderpool that assigns addresses to Pods: it preempts addresses of Pods that have not released them yet, releases
// late, and lets two Pods request one address concurrently. Some claims have addresses from a CNI plugin, which
// continues when the program is killed. GRAFT_CRASHES is the number of kills.
package crash
