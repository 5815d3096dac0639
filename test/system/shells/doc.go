// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package shells tests the completion of graft in the shells that people use. The shells are Debian packages, so that
// `make test-system` runs the suite. test/commands tests bash.
package shells
