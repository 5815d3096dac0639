// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package drift finds objects of control planes that are not what the profiles would make of them: those that were admitted while the webhook was away,
// before it was installed or under other profiles, and those that carry what rules wrote which are gone. It makes of each object, as it stands, what the
// webhook would make of an update that changes nothing; where that is a patch, the object has drifted. On request it touches such objects, one after
// the other at a bounded rate, so that they pass the webhook.
//
// It reads page by page, keeps no object, and writes nothing but touches, which change nothing themselves. It has no clock but the one that it is given.
// Enter at Finder.Find and Toucher.Touch; package patrol does both now and then.
package drift
