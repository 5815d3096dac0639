// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package engine runs a real dockerd and a graft-network-provider on a separate machine: mount, network and process
// namespaces with their own /run/docker/plugins and links. All processes end with the machine. The system suite, `make
// start-docker` and `make bench-containers` use it. It knows only the name of the program, and leaves nothing on the
// host. Linux only. Start reading at [Boot], then [Machine.Dockerd] and [Machine.Provider]; call [Machine.Halt] at the
// end, or [Machine.Reboot] to restart.
package engine
