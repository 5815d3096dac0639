// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package allocator selects addresses, VLANs and MAC addresses. It uses no clock, writes nothing and is not safe for
// concurrent use; the ledger calls it while it holds a pool. It prefers the least recently released address as far as
// this is cheap: the search continues after the last selection and wraps around.
//
// Start reading at NewSpace, NewIndex and NewVLANs.
package allocator
