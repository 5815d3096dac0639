// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"errors"
	"fmt"
	"net"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/wire"
)

// checkNames returns an error for the first invalid name in a request to allocate, with its field. A release stores
// nothing and is not checked, so that older allocations can be released under the same names.
func (r *request) checkNames(uid string) error {
	type named struct {
		field string
		err   error
	}
	all := []named{{"device.mac_address", checkMAC(r.Device.MAC)}}
	if r.Claim == nil {
		all = append(all, named{"claim_uid", wire.CheckUID(uid)})
	} else {
		all = append(all, named{"claim.metadata.uid", wire.CheckUID(uid)}, named{"claim.metadata.namespace", wire.CheckNamespace(r.Claim.Metadata.Namespace)},
			named{"claim.metadata.name", wire.CheckName(r.Claim.Metadata.Name)})
		for i, one := range r.Claim.Status.Allocation.Devices.Results {
			if one.Driver == driver { // other drivers may use any pool names
				all = append(all, named{fmt.Sprintf("claim.status.allocation.devices.results[%d].pool", i), wire.CheckName(one.Pool)})
			}
		}
		for i, one := range r.Claim.Status.ReservedFor {
			field := fmt.Sprintf("claim.status.reservedFor[%d]", i)
			all = append(all, named{field + ".name", wire.CheckName(one.Name)}, named{field + ".uid", wire.CheckUID(one.UID)})
		}
	}
	for _, one := range all {
		if one.err != nil {
			return bad("%s %s", one.field, one.err)
		}
	}
	return nil
}

// checkMAC returns an error for an invalid MAC address; it may be empty.
func checkMAC(text string) error {
	if text == "" {
		return nil
	}
	if _, err := net.ParseMAC(text); err != nil {
		return errors.New("must be a MAC address")
	}
	return nil
}
