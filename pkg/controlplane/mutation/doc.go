// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package mutation is the engine: profiles compiled into a Program, and the way of an object through it: select the rules of
// its target, plan (evaluate conditions and values, find what overrides what), check the plan against the contract, apply it
// to the document, and compare the protected parts. It is pure: it reads no file, cluster or clock, and everything that it
// decides can be printed. Enter at Compile and Program.Admit.
package mutation
