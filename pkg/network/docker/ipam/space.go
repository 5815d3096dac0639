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
	// name is the name for the client. short is the prefix of lease identifiers.
	name, short string
	// node is the node of a local space.
	node string
	// shared is true if several nodes share the leases.
	shared bool
	table  *record.Table[Pool]
}

// space returns the space with a name.
func (l *Driver) space(name string) (*space, error) {
	for _, s := range []*space{l.local, l.global} {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no address space %q; there are %s and %s", ErrRequest, name, LocalSpace, GlobalSpace)
}

// id returns the identifier of a lease: <space>/<pool>/<prefix>.
func (s *space) id(pool string, prefix netip.Prefix) string {
	return s.short + "/" + pool + "/" + prefix.String()
}

// parse parses an identifier.
func (s *space) parse(id string) (pool string, prefix netip.Prefix, ok bool) {
	parts := strings.SplitN(id, "/", 3)
	if len(parts) != 3 || parts[0] != s.short || parts[1] == "" {
		return "", prefix, false
	}
	prefix, err := netip.ParsePrefix(parts[2])
	return parts[1], prefix, err == nil && prefix.Masked().String() == parts[2]
}

// spaceOf returns the space of an identifier.
func (l *Driver) spaceOf(id string) (*space, error) {
	for _, s := range []*space{l.local, l.global} {
		if _, _, ok := s.parse(id); ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: %q is no identifier of one", ErrUnknown, id)
}

// beginning returns the common prefix of the owners in the space.
func (s *space) beginning() network.Owner {
	key := "pool/"
	if s.node != "" {
		key += s.node + "/"
	}
	return network.Owner{Contract: Contract, Key: key + s.short + "/"}
}

// owner returns the owner of an address of a lease.
func (s *space) owner(id string, address netip.Addr) network.Owner {
	owner := s.beginning()
	owner.Key += strings.TrimPrefix(id, s.short+"/") + "/" + address.String()
	return owner
}

// held parses an owner's key to lease and address.
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

// all returns the leases of the space by identifier.
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
