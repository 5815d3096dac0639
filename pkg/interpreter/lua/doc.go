// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lua translates InterpreterProfiles to Karmada's ResourceInterpreterCustomizations, for users who do
// not want to run a webhook.
//
// Each version of each kind becomes one customization, with a script for each operation that has rules. A
// script returns the same answers as the rules, within the limits of Karmada's Lua machine;
// testdata/differences.yaml lists the exceptions. An expression that has no equivalent in Lua is a finding, and
// then no output is written. Expressions are translated from CEL's checked syntax tree. The directory runtime
// contains the functions they need at run time; each script includes only those that it calls.
//
// The package runs no Lua. Start reading at Translate.
package lua
