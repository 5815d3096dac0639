// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
)

// space is an address space.
type space struct {
	// name is for the client, and short begins the identifiers of its leases.
	name, short string
	// node is whose it is, where it is one node's.
	node string
	// shared says that several nodes have the same leases in it.
	shared bool
	table  *record.Table[Pool]
}

// space finds one by its name.
func (l *Driver) space(name string) (*space, error) {
	for _, s := range []*space{l.local, l.global} {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no address space %q; there are %s and %s", ErrRequest, name, LocalSpace, GlobalSpace)
}

// id is the identifier of a lease: <space>/<pool>/<prefix>.
func (s *space) id(pool string, prefix netip.Prefix) string {
	return s.short + "/" + pool + "/" + prefix.String()
}

// parse reads an identifier.
func (s *space) parse(id string) (pool string, prefix netip.Prefix, ok bool) {
	parts := strings.SplitN(id, "/", 3)
	if len(parts) != 3 || parts[0] != s.short || parts[1] == "" {
		return "", prefix, false
	}
	prefix, err := netip.ParsePrefix(parts[2])
	return parts[1], prefix, err == nil && prefix.Masked().String() == parts[2]
}

// spaceOf is the space of an identifier.
func (l *Driver) spaceOf(id string) (*space, error) {
	for _, s := range []*space{l.local, l.global} {
		if _, _, ok := s.parse(id); ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: %q is no identifier of one", ErrUnknown, id)
}

// beginning begins the keys of the owners of all addresses of the space.
func (s *space) beginning() network.Owner {
	key := "pool/"
	if s.node != "" {
		key += s.node + "/"
	}
	return network.Owner{Contract: Contract, Key: key + s.short + "/"}
}

// owner is who has an address of a lease.
func (s *space) owner(id string, address netip.Addr) network.Owner {
	owner := s.beginning()
	owner.Key += strings.TrimPrefix(id, s.short+"/") + "/" + address.String()
	return owner
}

// held is what an owner's key says: the lease, and the address.
func (s *space) held(owner network.Owner) (id string, address netip.Addr, ok bool) {
	beginning := s.beginning()
	rest, begins := strings.CutPrefix(owner.Key, beginning.Key)
	at := strings.LastIndex(rest, "/")
	if owner.Contract != beginning.Contract || !begins || at < 0 {
		return "", address, false
	}
	id = s.short + "/" + rest[:at]
	address, err := netip.ParseAddr(rest[at+1:])
	_, _, is := s.parse(id)
	return id, address, is && err == nil
}

// all are the leases of the space by their identifiers.
func (s *space) all(ctx context.Context) (map[string]Pool, error) {
	leases := map[string]Pool{}
	err := s.table.All(ctx, func(id string, p Pool) error {
		leases[id] = p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the leases: %w", err)
	}
	return leases, nil
}
