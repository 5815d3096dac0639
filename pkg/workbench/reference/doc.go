// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package reference reads what documents may say from where it is said already: the JSON Schemas, and the registries of operations,
// targets and variables. The pages in docs/reference and `graft explain` are written from it, so that both say the same.
//
// It knows no page and no terminal: names that belong into backticks or quotes go through a Quote that the caller gives. Enter at
// ParseSchema, Arguments and Objects.
package reference

import "strings"

// Quote marks words that are to be read as they are written, such as by backticks.
type Quote func(words ...string) string

// Plain is a Quote that adds nothing.
func Plain(words ...string) string { return strings.Join(words, ", ") }
