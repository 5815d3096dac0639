// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lint finds all that is wrong with documents that people write for Graft, shows where, and fixes what can be fixed
// without a doubt. Kinds of documents are a registry (kind.go): each brings its checks, which are those of the loader, and lint adds
// none of its own. Rules have pages (rules.go), from which docs/lint is written.
//
// It knows no flags and no terminal, and writes no file but those that it is told to mend. Enter at Read, Run, Repair and
// Report.Write.
package lint
