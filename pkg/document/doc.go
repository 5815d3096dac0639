// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package document reads a JSON text once and records edits of it as an RFC 6902 patch.
//
// Parse makes one validating pass that leaves a flat index of every value: where it begins and ends and where the
// next one stands. Navigation uses the index and never scans again; a Node is made only for what is navigated.
// Edits go into an overlay of these nodes, and the patch is derived from the overlay at the end, by comparing each
// edited place with what stood there. What was not edited is neither decoded nor written again, so that unknown
// fields, the order of members and the spelling of numbers survive.
//
// ContentOf reads and edits the inline content of a file, which may be encoded. Command lines and units of systemd have
// packages of their own in pkg/format.
//
// The package knows nothing of Kubernetes kinds, decodes into no Go types and never computes the difference of two
// whole documents. It imports the standard library only. A Document is not safe for concurrent use, not even for
// reading, because nodes are made lazily.
//
// Enter at Parse, Document.Root and Document.Patch.
package document
