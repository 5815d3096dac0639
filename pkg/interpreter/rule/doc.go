// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package rule answers what Karmada asks of objects by the rules of InterpreterProfiles.
//
// Rules are compiled once, and everything that can be known without an object is checked then, with its place in the document. An answer is a
// function of the question: there is no clock, no client and no state. Objects are indexed, not decoded; expressions see them as they came, and
// only what an expression names is decoded. Changes are patches of the raw text, so that fields that nobody knows survive. The package knows no API.
//
// The files are layers, and calls go downwards: program (Compile, Program.Interpret), trace, compile, overlap and compilevalues, answer with
// combine and requirements, value, question, path, view, failure, environment. Enter at Compile and Program.Interpret.
package rule
