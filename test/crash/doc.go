// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package crash kills graft-network-provider, the program as it is shipped, at every step of an allocation and of a release, and looks
// whether one address was given to two owners, or one was lost. The points are seen from outside: requests that were sent, calls that the cloud
// has got, done and answered, the start itself, and a profile that is read again; the commits between them are hit by chance.
//
// The program answers DRANET's claims (owner) and Spiderpool's Pods (pod) on one ledger. A rack is the part of Spiderpool that decides who has an
// address: it takes them over from Pods that have not released yet, releases late, and lets two Pods ask for one address at the same time. A few claims have
// addresses that a plugin of CNI chooses, which goes on when the program is killed.
//
// GRAFT_CRASHES says how often it is killed. Enter at TestCrash.
package crash
