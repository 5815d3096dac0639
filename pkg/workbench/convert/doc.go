// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package convert proposes rules for the differences between objects before and after a webhook. Each difference becomes one
// argument of the operation that describes it best; arguments of the same operation become one rule. The proposal is then applied
// to the objects before, and what it does not reproduce is reported.
//
// It finds no conditions and no expressions, and it reads no files. Enter at Propose.
package convert
