// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Entry is a decoded row of a store: the row of an owner if Allocation is set, a record of another package if Record is
// set, and otherwise the row of a resource.
type Entry struct {
	// Key and Value are as the store has them; Value must not be kept.
	Key   string
	Value []byte
	// Allocation is the allocation of an owner.
	Allocation *network.Allocation
	// Resource is held by Owner, or is in quarantine until a time; Last is then its previous owner, if known.
	Resource Resource
	Owner    network.Owner
	Until    time.Time
	Last     network.Owner
	Record   bool
	// Internal is set for the rows of quotas, tombstones and servers.
	Internal bool
}

// Resource is one resource of an allocation: an address of a pool, a VLAN of a trunk, or a MAC address.
type Resource struct {
	Pool    string               `json:"pool,omitempty"`
	Address netip.Addr           `json:"address,omitzero"`
	Trunk   network.Trunk        `json:"trunk,omitzero"`
	VLAN    uint16               `json:"vlan,omitempty"`
	MAC     network.HardwareAddr `json:"mac,omitempty"`
}

// String describes the resource for messages.
func (t Resource) String() string {
	switch {
	case t.Address.IsValid():
		return fmt.Sprintf("%s of the pool %s", t.Address, t.Pool)
	case t.VLAN != 0:
		return fmt.Sprintf("the VLAN %d of the trunk %s/%s", t.VLAN, t.Trunk.Node, t.Trunk.MAC)
	default:
		return "the MAC address " + t.MAC.String()
	}
}

func (t Resource) key() string {
	switch {
	case t.Address.IsValid():
		return addressKey(t.Pool, t.Address)
	case t.VLAN != 0:
		return vlanKey(t.Trunk, t.VLAN)
	default:
		return macKey(t.MAC)
	}
}

// parseResource reads the key of a resource. It fails if the key is not in canonical form.
func parseResource(key string) (t Resource, err error) {
	switch {
	case strings.HasPrefix(key, prefixAddress):
		t.Pool, t.Address, err = parseAddress(key)
	case strings.HasPrefix(key, prefixVLAN):
		t.Trunk, t.VLAN, err = parseVLAN(key)
	case strings.HasPrefix(key, prefixMAC):
		err = t.MAC.UnmarshalText([]byte(strings.TrimPrefix(key, prefixMAC)))
	default:
		err = errUnknownRow
	}
	if err == nil && t.key() != key {
		err = errors.New("the key has another form than Graft writes")
	}
	return t, err
}

// Describe describes a row for messages.
func Describe(key string) string {
	if owner, ok := strings.CutPrefix(key, prefixOwner); ok {
		return "what " + owner + " has"
	}
	if isRecord(key) {
		return "the record " + strings.TrimPrefix(key, prefixRecord)
	}
	resource, err := parseResource(key)
	if err != nil {
		return "the row " + key
	}
	return resource.String()
}

var errUnknownRow = errors.New("unknown kind of row")

// ReadEntry parses any row except the row of the format. If it fails, the entry contains only the key.
func ReadEntry(key, value []byte) (Entry, error) {
	e := Entry{Key: string(key), Value: value}
	if strings.HasPrefix(e.Key, prefixOwner) {
		a, err := decode(value)
		if err != nil {
			return e, err
		}
		if e.Key != ownerKey(a.Owner) {
			return e, fmt.Errorf("the row names another owner, %s", a.Owner)
		}
		if err := Check(a); err != nil {
			return e, err
		}
		e.Allocation, e.Owner = &a, a.Owner
		return e, nil
	}
	if isRecord(e.Key) {
		e.Record = true
		return e, checkRecord(e.Key, value)
	}
	var err error
	switch kind, _, _ := strings.Cut(e.Key, "/"); kind + "/" {
	case prefixQuota:
		e.Internal = true
		if _, err = parseCount(e.Key, value); strings.Count(e.Key, "/") < 2 {
			err = errUnknownRow
		}
		return e, err
	case prefixTombstone:
		e.Internal = true
		_, err = parseTombstone(value)
		return e, err
	case prefixServer:
		e.Internal = true
		return e, nil
	}
	if e.Resource, err = parseResource(e.Key); err != nil {
		return e, err
	}
	p, err := parseResourceRow(value)
	if err == nil && !bytes.Equal(p.encode(), value) {
		err = errors.New("the value has another form than Graft writes")
	}
	if e.Owner, e.Until = p.owner, p.until; !p.until.IsZero() {
		e.Owner, e.Last = network.Owner{}, p.owner
	}
	return e, err
}

// Check returns the error of an allocation that can be found without pools and other allocations.
func Check(a network.Allocation) error {
	if !a.Owner.Valid() {
		return fmt.Errorf("%q is not an owner", a.Owner)
	}
	switch a.State {
	case network.Intended, network.Bound, network.Releasing:
	default:
		return fmt.Errorf("the state %q is not one of %s, %s, %s", a.State, network.Intended, network.Bound, network.Releasing)
	}
	if a.Pool == "" || strings.Contains(a.Pool, "/") {
		return fmt.Errorf("%q is not the name of a pool", a.Pool)
	}
	if a.Since.IsZero() {
		return errors.New("the start of the allocation (since) is missing")
	}
	if a.VLAN > 4094 {
		return fmt.Errorf("there is no VLAN %d", a.VLAN)
	}
	if a.VLAN != 0 && strings.Contains(a.Trunk.Node+a.Trunk.MAC, "/") {
		return errors.New("the trunk has a slash in its names")
	}
	held := map[netip.Addr]bool{}
	for _, address := range a.Addresses {
		if !address.IsValid() || address.Is4In6() || address.Zone() != "" || held[address] {
			return fmt.Errorf("the address %s is invalid or occurs twice", address)
		}
		held[address] = true
	}
	for _, chosen := range a.Binding.Addresses {
		if !held[chosen.Addr()] {
			return fmt.Errorf("the cloud has chosen %s, which is not among the addresses", chosen.Addr())
		}
	}
	return nil
}

// AllocationRows returns the changes that write an allocation in its stored form, without existing rows. It fails if
// the form is invalid.
func AllocationRows(raw []byte) ([]Change, error) {
	a, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if err := Check(a); err != nil {
		return nil, err
	}
	held := resourceKeys(a)
	changes := append(make([]Change, 0, 1+len(held)), Change{Key: ownerKey(a.Owner), Value: raw})
	owned := resourceRow{owner: a.Owner}.encode()
	for _, key := range held {
		changes = append(changes, Change{Key: key, Value: owned})
	}
	return changes, nil
}

// IsQuarantine reports whether a change starts a quarantine.
func IsQuarantine(c Change) bool { return len(c.Value) > 0 && c.Value[0] == markQuarantined }

// QuarantineRow returns the change that starts a quarantine of a free resource; last is the previous owner, or the zero one
// if unknown. It fails without a resource, an end, or a valid owner.
func QuarantineRow(t Resource, until time.Time, last network.Owner) (Change, error) {
	key := t.key()
	if read, err := parseResource(key); err != nil || !reflect.DeepEqual(read, t) {
		return Change{}, errors.New("a quarantine must name an address of a pool, a VLAN of a trunk, or a MAC address")
	}
	if until.IsZero() {
		return Change{}, errors.New("the end of the quarantine is missing")
	}
	if last != (network.Owner{}) && !last.Valid() {
		return Change{}, fmt.Errorf("the last owner %q is not an owner", last)
	}
	return Change{Key: key, Value: resourceRow{owner: last, until: until}.encode()}, nil
}
