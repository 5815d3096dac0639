// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package crash kills graft-network-provider, the program as it is shipped, at every step of an allocation and of a release, and looks
// whether one address was given to two owners, or one was lost. The points are seen from outside: requests that were sent, calls that the cloud
// has got, done and answered, and the start itself; the commits between them are hit by chance.
//
// GRAFT_CRASHES says how often it is killed. Enter at TestCrash.
package crash
