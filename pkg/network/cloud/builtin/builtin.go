// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package builtin is the cloud of pools that name none: there is nobody to be asked, and an allocation is one commit of the ledger. It programs
// nothing outside of the machine, and says so. Enter at New and Note.
package builtin

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"

// New is the cloud: none, which is what a pool of the service has then.
func New() cloud.Cloud { return nil }

// Note is what people must know who use such pools, for logs.
const Note = "the pool has no cloud: Graft gives out its addresses and remembers who has them, and programs no route, port or filter anywhere; " +
	"the network must deliver what is sent to them by itself"
