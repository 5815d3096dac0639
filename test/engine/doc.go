// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package engine runs a real dockerd and a graft-network-provider on a machine of their own: namespaces of mounts,
// networks and processes, in which /run/docker/plugins and all links are theirs alone, and with which every process
// ends. The system suite, `make start-docker` and `make bench-containers` stand on it.
//
// It knows nothing of the product but the program's name, and leaves nothing on the machine that it runs on. Linux
// only. Enter at [Boot], then [Machine.Dockerd] and [Machine.Provider]; [Machine.Halt] at the end, or [Machine.Reboot]
// in the middle.
package engine
