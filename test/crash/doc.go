// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package crash kills graft-network-provider at every step of an allocation and of a release, and checks that no
// address has two owners, and none is lost. The points are visible from outside: requests that were sent, calls that
// the cloud has received, executed and answered, the start, and a profile that is read again. The commits between them
// are hit by chance.
//
// The program answers DRANET's claims (owner) and Spiderpool's Pods (pod) on one ledger. A rack is the part of
// Spiderpool that decides which Pod has an address: it takes addresses over from Pods that have not released yet,
// releases late, and lets two Pods ask for one address at the same time. A few claims have addresses from a CNI plugin,
// which continues when the program is killed.
//
// GRAFT_CRASHES is the number of kills.
package crash
