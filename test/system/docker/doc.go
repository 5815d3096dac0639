// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package docker lets Debian's dockerd run containers on Graft's networks. It has tests only, which need root and
// packages of Debian and have the build tag system.
package docker
