// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package mutation mutates objects with a compiled Program: it selects the rules for an object, plans them (evaluates
// conditions and values, and finds overridden writes), applies the plan, and compares the protected parts with the
// original object. It reads no files, clusters or clocks. Start reading at Program.Admit and admissionSteps. Package
// compiler makes programs of profiles, and package explanation explains every decision.
package mutation
