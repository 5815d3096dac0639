// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package shells has no code of its own; its tests, which need packages of Debian, have the build tag system.
package shells
