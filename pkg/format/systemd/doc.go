// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package systemd edits systemd units in place, by splicing lines: comments, blank lines and all other unedited parts
// stay byte for byte. Every edit is parsed again before it is accepted.
//
// Start reading at Parse; Unit.Command returns the flags of an option such as ExecStart.
package systemd
