// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package shells tries the completion of graft in shells, and its man pages. It has tests only, which need packages of Debian and have the build tag system;
// enter at TestCompletion and TestMan.
package shells
