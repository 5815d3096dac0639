// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package allocator chooses addresses, VLANs and MAC addresses. It is pure: it keeps no time, writes nothing and is not safe for
// concurrent use; the ledger calls it while it holds a pool. What is chosen next is what was given back longest ago, as far as
// that is cheap: the choice goes round, and does not begin at the lowest free one each time.
//
// Enter at NewSpace, NewIndex and NewVLANs.
package allocator
