// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ledger is the durable memory of who holds which addresses, VLANs and MAC addresses. An allocation is a row under its
// owner, and a row under each thing that is held, written together: so that nothing has two holders, and no owner two
// allocations, whatever happens between. What is taken is also known in memory, so that choosing costs no read.
//
// The rules of who may have what when are the service's; the ledger knows no cloud, no wire and no clock. Enter at Open.
package ledger
