// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package explain says, in the manner of kubectl explain, what documents, operations, targets, variables, functions, flags and feature
// gates are (Static), and for one object what each rule of the loaded profiles does with it and why (Of). Both give data that a Style
// writes as text, or that encoding/json writes as JSON.
//
// It reads no files and no terminal. No value of a Secret is in what it gives. Enter at Static and Of.
package explain
