// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lua writes InterpreterProfiles as ResourceInterpreterCustomizations of Karmada: for people who want no webhook.
//
// Each kind, in each version, gets one customization with a script for each question that has rules. A script answers as the rules do, within what
// Karmada's machine for Lua hands over and takes: testdata/differences.yaml says where that must differ. What cannot be said in Lua is a finding by its
// name, and then nothing is written. Expressions are translated from the tree that CEL has checked; what they need at run time is in the folder runtime,
// of which each script gets the functions that it calls.
//
// The package runs no Lua. Enter at Translate.
package lua
