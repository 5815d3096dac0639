// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package interpreter tests graft-resource-interpreter as it is run: replicas that share a Secret and a Lease in a real
// kube-apiserver, and keep their registration there, which callers follow as Karmada does. It has specs only.
package interpreter
