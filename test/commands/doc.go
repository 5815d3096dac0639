// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package commands runs what people type: the programs that `make build` makes, in a shell, in a copy of the repository. The suites
// of the command line and of the documents stand on it; programs must not import it.
//
// Enter at Build (the programs), Checkout (a copy to work in) and Shell (what runs a line in it).
package commands
