// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package operation holds what a rule can do to an object: one file per operation, and the registry that lists them.
//
// An operation reads its arguments once, when a profile is loaded, and yields Writes: each names one place in the object
// (a flag of a container, a label, a volume), the value for it, and how to write it. All that the engine decides (what
// conflicts, what overrides what, what the contract forbids) it decides by places and values, so that an operation need not
// know of it. Operations must not read anything but the object and must not decide by conditions. Enter at All.
package operation
