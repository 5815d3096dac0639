// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package network defines the types and errors of the network provider, which allocates addresses and related settings
// for callers of three contracts (DRANET, Spiderpool, Docker).
//
// It uses no contract, store or cloud. Start reading at Allocation.
package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// The errors of the network provider. Each contract maps them to the errors of its protocol.
var (
	// ErrUnknownPool means that there is no pool of this name.
	ErrUnknownPool = errors.New("unknown pool")
	// ErrOutside means that a requested address is in no range of the pool.
	ErrOutside = errors.New("the address is outside of the pool")
	// ErrTaken means that another owner has the requested resource, or that its quarantine has not ended.
	ErrTaken = errors.New("in use")
	// ErrExhausted means that the pool has no free address, VLAN or MAC address.
	ErrExhausted = errors.New("exhausted")
	// ErrNotHeld means that the owner has no allocation.
	ErrNotHeld = errors.New("not held")
	// ErrQuota means that the owner, or the group that shares its quota, has reached the quota.
	ErrQuota = errors.New("the quota is used up")
	// ErrBusy means that the work was not started, because it would take longer than the caller waits. Its type is Busy.
	ErrBusy = errors.New("busy")
	// ErrRefused is a permanent rejection by the cloud: a retry does not help.
	ErrRefused = errors.New("refused by the cloud")
	// ErrNotSent means that a call to a cloud cannot be built: this attempt sent nothing.
	ErrNotSent = errors.New("nothing was sent to the cloud, because the call cannot be encoded")
	// ErrInUse is returned by a cloud for an address that something outside of the ledger uses. It is an ErrRefused, too.
	ErrInUse = fmt.Errorf("%w: the address is in use in the cloud", ErrRefused)
	// ErrReleased is returned for a request that arrived before its owner was released.
	ErrReleased = errors.New("the owner was released")
	// ErrGone means that the caller disconnected before anything was written for the request.
	ErrGone = errors.New("the caller has disconnected")
	// ErrUnavailable means that the request failed temporarily; a later attempt may succeed, and continues it.
	ErrUnavailable = errors.New("unavailable")
)

// Busy is the error of a request that was not started because it would exceed its deadline. It is ErrBusy.
type Busy struct {
	// RetryAfter is the time until a retry makes sense.
	RetryAfter time.Duration
	// Of names the busy resource, such as a cloud.
	Of string
}

// Error implements error.
func (b *Busy) Error() string {
	return ErrBusy.Error() + ": " + b.Of + " is overloaded: the call would not end in time; try again in " + b.RetryAfter.String()
}

// Is reports whether target is ErrBusy.
func (b *Busy) Is(target error) bool { return target == ErrBusy }

// Owner is who holds an allocation. Two owners are the same when contract and key are.
type Owner struct {
	// Contract is the protocol of the owner: dranet, spiderpool or docker.
	Contract string `json:"contract"`
	// Key identifies an owner within a contract, such as the UID of a claim and a device. It is never shown to other owners.
	Key string `json:"key"`
}

// String returns the owner as one word, for logs and as a key.
func (o Owner) String() string { return o.Contract + "/" + o.Key }

// ParseOwner parses the text of String. It fails for any other text.
func ParseOwner(text string) (Owner, error) {
	contract, key, ok := strings.Cut(text, "/")
	if !ok || contract == "" || key == "" {
		return Owner{}, errors.New("an owner is <contract>/<key>")
	}
	return Owner{contract, key}, nil
}

// Valid reports whether ParseOwner can parse the text of String.
func (o Owner) Valid() bool {
	return o.Contract != "" && o.Key != "" && !strings.Contains(o.Contract, "/")
}

// Trunk is the network interface of a machine that carries VLANs. The zero value means no trunk.
type Trunk struct {
	// Node is the machine, and MAC the interface's address in lower case. Either may be empty if the contract lacks it.
	Node string `json:"node,omitempty"`
	MAC  string `json:"mac,omitempty"`
}

// State is the state of an allocation.
type State string

// The states of an allocation. A row is written before the cloud is called, so that after a crash at any time a server
// can complete the work or undo it.
const (
	// Intended: it is selected and reserved; the cloud may or may not have it.
	Intended State = "intended"
	// Bound: the cloud has it.
	Bound State = "bound"
	// Releasing: the owner has released it; the cloud may still have it.
	Releasing State = "releasing"
	// Quarantined: the cloud has confirmed the release; the resource is not allocated before its quarantine ends.
	Quarantined State = "quarantine"
)

// Allocation holds all resources of one owner; it is complete or does not exist.
type Allocation struct {
	Owner Owner  `json:"owner"`
	Pool  string `json:"pool"`
	State State  `json:"state"`
	// Addresses are of different families, at most one of each.
	Addresses []netip.Addr `json:"addresses"`
	// MAC is empty if the pool has no MAC addresses, and VLAN is 0 if it has no VLANs.
	MAC   HardwareAddr `json:"mac,omitempty"`
	VLAN  uint16       `json:"vlan,omitempty"`
	Trunk Trunk        `json:"trunk,omitzero"`
	// Since is when it was chosen.
	Since time.Time `json:"since"`
	// Holder is the object that the owner represents.
	Holder Holder `json:"holder,omitzero"`
	// Together is set while it is intended: the first owner of a request with several owners, which are allocated all
	// or none. It is zero for a request with one owner, and in rows of versions without this field.
	Together Owner `json:"together,omitzero"`
	// Quotas are the quotas of the pool that it counts for, such as namespace/default.
	Quotas []string `json:"quotas,omitempty"`
	// Cloud is the name, in profiles, of the cloud that bound it, regardless of the pool's current cloud. It is empty
	// for the builtin one, and in old rows without this field, which mean the pool's current cloud.
	Cloud string `json:"cloud,omitempty"`
	// Binding is the cloud's result, once it is bound.
	Binding Binding `json:"binding,omitzero"`
	// Generation distinguishes this allocation from earlier ones of the owner.
	Generation uint64 `json:"generation,omitempty"`
	// Worker is the server that binds or releases it. Other servers do not change it while that one holds its lease.
	Worker string `json:"worker,omitempty"`
	// BindUntil is the time until which a pending bind call may still have an effect in the cloud; zero if the outcome
	// of all calls is known. The allocation may be deleted only after an unbind that succeeded later.
	BindUntil time.Time `json:"bindUntil,omitzero"`
	// Request is the number of an intended allocation's request for several owners, and 0 for a request of one owner.
	// If the allocations do not fit into one commit, the first one keeps it when it is bound before the rest.
	Request uint64 `json:"request,omitempty"`
	// Answered reports that another request than the creating one has received it.
	Answered bool `json:"answered,omitempty"`
}

// Holder is the object of Kubernetes, or the container, that an owner represents, as far as the caller has named it. It
// is used for messages, and to find out whether the object still exists.
type Holder struct {
	// Kind is ResourceClaim, Pod, Container or Endpoint: one of a container, in one of its networks.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	Node      string `json:"node,omitempty"`
	// Device is the device or interface of the holder that has the allocation.
	Device string `json:"device,omitempty"`
	// Aliases lists all names that the caller has used for the device, each with its kind, such as pci/0000:27:00.2.
	Aliases []string `json:"aliases,omitempty"`
}

// String returns the holder as one word.
func (h Holder) String() string {
	name := h.Name
	if name == "" {
		name = h.UID
	}
	if h.Namespace != "" {
		name = h.Namespace + "/" + name
	}
	return strings.TrimPrefix(h.Kind+" "+name, " ")
}

// Binding is a cloud's result for an allocation.
type Binding struct {
	// MAC is the cloud's MAC address; empty means the allocation's.
	MAC HardwareAddr `json:"mac,omitempty"`
	// VLAN is the cloud's VLAN, which the cloud keeps unique without a row in the ledger; 0 means the allocation's.
	VLAN uint16 `json:"vlan,omitempty"`
	// Addresses are those that the cloud has chosen, with the length of their subnet, where the pool leaves the choice to it.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// Gateways and Routes are the cloud's settings for those addresses.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	Routes   []Route      `json:"routes,omitempty"`
	// MTU is the MTU of the cloud's network in bytes; 0 means unknown.
	MTU int32 `json:"mtu,omitempty"`
	// Reference identifies the binding in the cloud; only the cloud reads it.
	Reference json.RawMessage `json:"reference,omitempty"`
}

// Route leads to a destination through a gateway, or over the link if the gateway is not valid.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Gateway     netip.Addr   `json:"gateway,omitzero"`
}

// HardwareAddr returns the MAC address for the owner. It is empty if neither the cloud nor the pool sets one.
func (a Allocation) HardwareAddr() HardwareAddr {
	if len(a.Binding.MAC) > 0 {
		return a.Binding.MAC
	}
	return a.MAC
}

// VLANID returns the VLAN for the owner, which contracts use instead of VLAN. It is 0 if neither the cloud nor the pool
// sets one.
func (a Allocation) VLANID() uint16 {
	if a.Binding.VLAN != 0 {
		return a.Binding.VLAN
	}
	return a.VLAN
}

// HardwareAddr is a MAC address that is written as text.
type HardwareAddr []byte

// String writes it in lower case with colons.
func (h HardwareAddr) String() string { return net.HardwareAddr(h).String() }

// MarshalText returns the text of String. It never fails.
func (h HardwareAddr) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads any form that net.ParseMAC does. It fails for any other form.
func (h *HardwareAddr) UnmarshalText(text []byte) error {
	parsed, err := net.ParseMAC(string(text))
	*h = HardwareAddr(parsed)
	return err
}

// Exhausted is the error of a pool that has nothing left. It is ErrExhausted.
type Exhausted struct {
	Pool string
	Of   ResourceKind
	// Text describes the missing resource for users.
	Text string
}

// ResourceKind is the kind of an exhausted resource.
type ResourceKind string

// The kinds: addresses of a family, VLANs of a trunk, and resources selected by a cloud.
const (
	OfIPv4  ResourceKind = "ipv4"
	OfIPv6  ResourceKind = "ipv6"
	OfVLAN  ResourceKind = "vlan"
	OfCloud ResourceKind = "cloud"
)

// OfFamily returns the kind of addresses with this number of bits.
func OfFamily(bits int) ResourceKind {
	if bits == 32 {
		return OfIPv4
	}
	return OfIPv6
}

// Error implements error.
func (e *Exhausted) Error() string { return ErrExhausted.Error() + ": " + e.Text }

// Is reports whether target is ErrExhausted.
func (e *Exhausted) Is(target error) bool { return target == ErrExhausted }
