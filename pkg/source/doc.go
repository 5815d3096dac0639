// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package source knows where in a document that a person wrote something stands, and decodes such documents strictly.
//
// It turns YAML into Nodes that remember file, line and column, decodes Nodes into Go structs with an error for every
// field that is unknown, double or of the wrong type, and collects such errors as Findings, all of them rather than the
// first. It knows nothing of profiles: pkg/profile says which documents there are. Enter at Parse and Decode.
package source
