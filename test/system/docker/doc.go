// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package docker has no code of its own; its tests, which need root and packages of Debian, have the build tag system.
package docker
