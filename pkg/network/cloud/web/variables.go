// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// variables returns the variables for expressions before a request.
func variables(a network.Allocation) map[string]any {
	addresses := make([]string, len(a.Addresses))
	for i, address := range a.Addresses {
		addresses[i] = address.String()
	}
	return map[string]any{"allocation": allocationObject.Value(expression.Values{
		"id": identity(a), "owner": a.Owner.String(), "contract": a.Owner.Contract, "pool": a.Pool, "addresses": addresses,
		"mac": expression.Optional(a.HardwareAddr().String()), "vlan": expression.Optional(int64(a.VLANID())),
		"node": expression.Optional(firstOf(a.Trunk.Node, a.Holder.Node)), "parent": expression.Optional(a.Trunk.MAC),
		"holder": holderObject.Value(expression.Values{
			"kind": expression.Optional(a.Holder.Kind), "namespace": expression.Optional(a.Holder.Namespace), "name": expression.Optional(a.Holder.Name),
			"uid": expression.Optional(a.Holder.UID), "node": expression.Optional(a.Holder.Node), "device": expression.Optional(a.Holder.Device),
		}),
	})}
}

// referring returns variables with the reference of the binding, or null.
func referring(a network.Allocation) (map[string]any, error) {
	vars := variables(a)
	vars["reference"] = expression.Value(nil)
	if len(a.Binding.Reference) == 0 {
		return vars, nil
	}
	reference, err := expression.ParseJSON(a.Binding.Reference)
	if err != nil {
		return nil, fmt.Errorf("reading the reference that the ledger keeps: %w", err)
	}
	vars["reference"] = expression.Value(reference)
	return vars, nil
}

// identity returns a value that is the same in all attempts for one allocation, and differs when the owner comes again
// after a release. It is suitable for names in the cloud and as an idempotency key.
func identity(a network.Allocation) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", a.Owner, a.Since.UnixNano()))
	return hex.EncodeToString(sum[:16])
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
