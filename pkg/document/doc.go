// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package document parses a JSON text once and records edits of it as an RFC 6902 patch.
//
// Parse makes one validating pass and creates a flat index of every value: its start, its end and the start of the next
// one. Navigation uses the index and never scans again; a Node is created only for visited values. Edits are stored in
// an overlay of these nodes, and the patch is derived from the overlay at the end: a replaced value is one operation that
// replaces it as a whole. Unedited parts are neither decoded nor encoded, so that unknown fields, the order of members and
// the notation of numbers are preserved.
//
// ContentOf reads and edits the inline content of a file, which may be encoded. Command lines and systemd units have
// packages of their own in pkg/format.
//
// The package does not know kinds of Kubernetes, decodes into no Go types and never computes the difference of two
// whole documents. It imports only the standard library, and the steps of paths from fieldpath. A Document is not safe
// for concurrent use, not even for reading, because nodes are created lazily.
//
// Start reading at Parse, Document.Root and Document.Patch.
package document
