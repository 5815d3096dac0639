// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package commands runs commands in a shell, in a copy of the repository. The suites of the command line and of the
// documents use it.
//
// Start reading at Checkout, which makes the copy, and at Shell, which runs a line in it.
package commands
