// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package source locates the parts of hand-written documents, and decodes such documents strictly.
//
// It turns YAML into Nodes with file, line and column, decodes Nodes into Go structs with an error for every field that
// is unknown, duplicate or of the wrong type, and collects all such errors as Findings. It does not know profiles:
// pkg/profile defines the documents. Start reading at Parse and Decode.
package source
