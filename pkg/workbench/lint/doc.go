// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lint finds all mistakes in documents for Graft, shows their positions, and fixes unambiguous ones. Kinds of
// documents are a registry (kind.go): each provides its checks, which are those of the loader, and lint adds none.
// Rules have pages (rules.go), which are the source of docs/lint.
//
// It uses no flags and no terminal, and writes only the files to repair. Start reading at Read, Run, Repair and
// Report.Write.
package lint
