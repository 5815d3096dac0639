// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// The rows, by the prefix of their keys:
//
//	owner/<contract>/<key>            an Allocation, as JSON
//	ip/<pool>/<address in hex>        its owner: see resourceRow
//	vlan/<node>/<mac>/<id>            "
//	mac/<address>                     "
//	quota/<pool>/<name>               the number of allocations that count for it
//	tombstone/<contract>/<key>        the time of the owner's release
//	server/<id>                       a server with a lease
//	record/<node>/<table>/<key>       a value of another package, as JSON: see package record
//	format                            the version of all rows
//
// A resource in quarantine has its last owner in the row, because that owner can have it again sooner. Old rows lack it.
const (
	prefixOwner     = "owner/"
	prefixAddress   = "ip/"
	prefixVLAN      = "vlan/"
	prefixMAC       = "mac/"
	prefixQuota     = "quota/"
	prefixTombstone = "tombstone/"
	prefixServer    = "server/"
	prefixRecord    = "record/"
	keyFormat       = "format"
)

// ServerKey returns the key of the row that exists as long as a server holds its lease.
func ServerKey(id string) string { return prefixServer + id }

// format is the version that this package writes.
const format = "2"

// ErrFormat means that another version of Graft has written the rows.
var ErrFormat = errors.New("the ledger has a format that this version does not know")

func ownerKey(o network.Owner) string { return prefixOwner + o.Contract + "/" + o.Key }

// addressKey orders the rows of a pool by address: 8 or 32 digits.
func addressKey(pool string, address netip.Addr) string {
	return prefixAddress + pool + "/" + hex.EncodeToString(address.AsSlice())
}

func vlanKey(t network.Trunk, id uint16) string {
	return fmt.Sprintf("%s%s/%s/%d", prefixVLAN, t.Node, t.MAC, id)
}

func macKey(mac network.HardwareAddr) string { return prefixMAC + mac.String() }

// parseAddress parses the key of an address.
func parseAddress(key string) (string, netip.Addr, error) {
	pool, digits, _ := strings.Cut(strings.TrimPrefix(key, prefixAddress), "/")
	var raw [16]byte
	if len(digits) <= hex.EncodedLen(len(raw)) {
		n, err := hex.Decode(raw[:], []byte(digits))
		if address, ok := netip.AddrFromSlice(raw[:n]); err == nil && ok {
			return pool, address, nil
		}
	}
	return "", netip.Addr{}, fmt.Errorf("the row %q is not that of an address", key)
}

// parseVLAN reads the key of a VLAN.
func parseVLAN(key string) (network.Trunk, uint16, error) {
	parts := strings.Split(strings.TrimPrefix(key, prefixVLAN), "/")
	if len(parts) == 3 {
		if id, err := strconv.ParseUint(parts[2], 10, 16); err == nil {
			return network.Trunk{Node: parts[0], MAC: parts[1]}, uint16(id), nil
		}
	}
	return network.Trunk{}, 0, fmt.Errorf("the row %q is not that of a VLAN", key)
}

// resourceRow holds the owner of one resource. During a quarantine, owner is the last owner, or zero.
type resourceRow struct {
	owner network.Owner
	until time.Time
}

// The first byte of a resourceRow: = and the owner, or ~ and the seconds since 1970, then = and a known last owner.
const (
	markOwned       = '='
	markQuarantined = '~'
)

func (p resourceRow) encode() []byte {
	if p.until.IsZero() {
		return p.owned(make([]byte, 0, 2+len(p.owner.Contract)+len(p.owner.Key)))
	}
	row := strconv.AppendInt([]byte{markQuarantined}, p.until.Unix(), 10)
	if p.owner == (network.Owner{}) {
		return row
	}
	return p.owned(row)
}

// owned appends the owner to a row.
func (p resourceRow) owned(row []byte) []byte {
	row = append(append(row, markOwned), p.owner.Contract...)
	return append(append(row, '/'), p.owner.Key...)
}

func parseResourceRow(value []byte) (resourceRow, error) {
	if len(value) > 1 {
		text := string(value[1:])
		switch value[0] {
		case markOwned:
			owner, err := network.ParseOwner(text)
			return resourceRow{owner: owner}, err
		case markQuarantined:
			return parseQuarantine(text)
		}
	}
	return resourceRow{}, errors.New("a row has neither an owner nor the end of a quarantine")
}

// parseQuarantine parses the end of the quarantine and the last owner, if there is one.
func parseQuarantine(text string) (resourceRow, error) {
	number, last, known := strings.Cut(text, string(markOwned))
	seconds, err := strconv.ParseInt(number, 10, 64)
	p := resourceRow{until: time.Unix(seconds, 0).UTC()}
	if err == nil && known {
		p.owner, err = network.ParseOwner(last)
	}
	return p, err
}

// resourceKeys returns the keys of all resources of an allocation, without its owner's row.
func resourceKeys(a network.Allocation) []string {
	keys := make([]string, 0, len(a.Addresses)+2)
	for _, address := range a.Addresses {
		keys = append(keys, addressKey(a.Pool, address))
	}
	if a.VLAN != 0 {
		keys = append(keys, vlanKey(a.Trunk, a.VLAN))
	}
	if len(a.MAC) > 0 {
		keys = append(keys, macKey(a.MAC))
	}
	return keys
}

func encode(a network.Allocation) ([]byte, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encoding an allocation: %w", err)
	}
	return raw, nil
}

func decode(raw []byte) (network.Allocation, error) {
	var a network.Allocation
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("decoding an allocation: %w", err)
	}
	return a, nil
}

// DecodeStrictly parses one JSON value. Unknown fields and further values are errors.
func DecodeStrictly(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text after the value")
	}
	return nil
}

// hasAddresses reports whether the row of an owner contains addresses, without decoding it: they precede all similar fields.
func hasAddresses(row []byte) bool {
	_, rest, _ := bytes.Cut(row, []byte(`"addresses":`))
	return bytes.HasPrefix(rest, []byte(`["`))
}

// isBound reports whether the row of an owner contains a bound allocation, without decoding it: the state precedes all
// similar fields.
func isBound(row []byte) bool {
	_, rest, _ := bytes.Cut(row, []byte(`"state":`))
	return bytes.HasPrefix(rest, []byte(`"`+network.Bound+`"`))
}
