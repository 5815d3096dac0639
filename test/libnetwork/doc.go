// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package libnetwork drives bin/graft-network-provider with the real controllers of Docker Engine 28 and 29 over its real socket, with real links, in
// namespaces of its own and without root. It is a module of its own, since it shares no dependencies with Graft, and knows of Graft what users
// know: documents, options, sockets and what the programs print. Enter at TestMain; `make test-libnetwork` runs it.
package libnetwork
