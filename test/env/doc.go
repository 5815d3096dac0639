// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package env runs Graft's programs for tests: as processes (Process, Extension, NetworkProvider) or inside the test
// process (Main). It also has free ports, a certificate authority and comparisons with wildcards.
package env
