// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package drift tests graft drift with a real kube-apiserver: it finds and touches objects that were admitted before
// the webhook was registered, while it was away, and under another profile.
package drift
