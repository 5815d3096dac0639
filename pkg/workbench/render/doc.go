// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package render makes an object, and what rules make of it, readable. Text projects an object into lines: like YAML, with
// a command line one flag a line and texts inside fields as text. Blame follows these lines through the states of an object
// and knows for each line which rule wrote or removed it. Change does both for an object on its way through the engine, and
// Style writes changes for a terminal or a file.
//
// It decides nothing about objects and reads no files, clusters or terminals: the caller says how wide the output is and
// whether it is coloured. Enter at NewChange and Style.Write.
package render
