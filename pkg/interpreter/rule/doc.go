// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package rule answers Karmada's questions with the rules of InterpreterProfiles.
//
// Rules are compiled once. Everything that can be checked without an object is checked then, with its place in
// the document. An answer depends on the question only: there is no clock, client or state. Objects are
// indexed, not decoded. Expressions see the original objects, and only the fields that an expression names are
// decoded. Changes are patches of the raw text, which preserves unknown fields.
//
// The files are layers, and calls go downwards: program (Compile, Program.Interpret), trace, compile, overlap
// and compilevalues, answer with combine and requirements, value, question, path, view, failure, environment.
// Start reading at Compile and Program.Interpret.
package rule
