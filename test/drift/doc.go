// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package drift tests graft drift, and the extension that looks for drift itself, against a real kube-apiserver: objects that were admitted before the
// webhook was there, while it was away, and under another profile are found, touched, and gone. Enter at TestDrift.
package drift
