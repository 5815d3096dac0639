// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package drift finds objects of control planes that differ from the result of the profiles: those admitted while the
// webhook was unavailable, not installed, or running other profiles, and those with values of removed rules. It
// computes the webhook's response to an update without changes; if this is a patch, the object has drifted. On request
// it touches such objects, one at a time at a limited rate, so that the webhook mutates them.
//
// It reads page by page, keeps no objects, and writes only touches, which change nothing themselves. Start reading at
// Finder.Find and Toucher.Touch; package patrol searches periodically.
package drift
