// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package shells tests the completion of graft in shells. It has tests only, which need packages of Debian and have the
// build tag system; start with TestCompletion.
package shells
