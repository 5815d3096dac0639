// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package live tests graft diff --live and graft compare --live against a real kube-apiserver with the real extension
// installed: what they say, that they change nothing, and what they say where they may not read, or the webhooks do not
// answer.
package live
