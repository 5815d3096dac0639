// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package libnetwork tests bin/graft-network-provider with the network controllers of Docker Engine 28 and 29. They
// call it over its socket and create links in separate namespaces, without root. The package is a separate module,
// because the controllers have other dependencies than Graft. `make test-libnetwork` runs it.
package libnetwork
