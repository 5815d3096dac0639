// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package systemd edits units of systemd in place, by splicing lines: comments, blank lines and everything else that is
// not edited stay byte for byte. What an edit writes is read again before it counts.
//
// Start at Parse; Unit.Command reads the flags of an option such as ExecStart.
package systemd
