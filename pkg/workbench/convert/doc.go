// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package convert proposes rules for the differences between objects before and after a webhook. Each difference
// becomes one argument of the most specific operation; arguments of the same operation become one rule. The package
// then applies the proposal to the objects before, and reports remaining differences.
//
// It finds no conditions and no expressions, and it reads no files. Start reading at Propose.
package convert
