// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package history checks histories of the network provider with a simulated cloud. docs/histories.md explains it.
package history
