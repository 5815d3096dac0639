// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package live tests graft diff --live and graft explain --live against a real kube-apiserver with the real extension
// installed: their output, that they change nothing, and their messages if permissions are missing or the webhooks do
// not answer.
package live
