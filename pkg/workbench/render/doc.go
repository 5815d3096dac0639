// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package render displays an object with the effects of rules. Text converts an object to lines: similar to YAML, with
// one line per flag of a command line, and with texts inside fields as lines. Blame follows these lines through the
// states of an object and knows the rule that wrote or removed each line. Change combines both for an object that the
// engine admits, and Style writes changes for a terminal or a file.
//
// It makes no decisions about objects and reads no files, clusters or terminals: the caller defines the width and the
// colours of the output. Start reading at NewChange and Style.Write.
package render
