// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package mutation is the engine. It compiles profiles into a Program and mutates objects with it: it selects the rules
// for an object, plans them (evaluates conditions and values, and finds overridden writes), checks the plan against the
// contract, applies it to the document, and compares the protected parts. It reads no files, clusters or clocks, and
// can explain every decision. Start reading at Compile and Program.Admit.
package mutation
