// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package ipam is Docker's IPAM driver: it allocates pools and addresses for a client that names no owner. A
// lease of a pool is a row, and an address is an allocation in the ledger. An address is released only with the
// identifier of its lease. After its restart, Docker requests everything again and receives the same.
//
// The package decodes no requests, knows no concrete store, and uses the clock from its options. Start reading
// at RequestPool.
package ipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// Contract is the contract of the owners of addresses.
const Contract = "docker"

// The address spaces. Leases in the local space belong to this node, those in the global space to all nodes of
// a cluster.
const (
	LocalSpace  = "graft-local"
	GlobalSpace = "graft-global"
)

// ErrUnknown means that an identifier refers to no lease and to no possible one. Its text is for users. The other errors
// are those of package network, and link.ErrImpossible for an invalid request.
var ErrUnknown = errors.New("the pool does not exist")

// Options configure a Driver.
type Options struct {
	// Service, Policy, Store and Clock are required. Policy returns the active policy.
	Service *service.Service
	Policy  func() *policy.Policy
	Store   ledger.Store
	Clock   clock.PassiveClock
	// Node is the name of this node, or "" if there is only one.
	Node string
	// Grace is the time after which an unused address is released (default 10 minutes).
	Grace time.Duration
	// Knows reports whether a network with a subnet of a space exists, and whether the address is in use in any
	// network with that subnet.
	Knows func(ctx context.Context, network, space string, subnet netip.Prefix, address netip.Addr) (there, has bool,
		err error)
	// Freed receives released addresses, Report errors of background work.
	Freed  func(network.Allocation)
	Report func(error)
}

// LeasedPool is a leased pool.
type LeasedPool struct {
	// ID is the identifier for the client, Space the address space, and Pool the name of the pool.
	ID    string `json:"id"`
	Space string `json:"space"`
	Pool  string `json:"pool"`
	// Prefix is the leased subnet. Addresses are chosen from Within, or from all of Prefix if it is not valid.
	Prefix netip.Prefix `json:"prefix"`
	Within netip.Prefix `json:"within,omitzero"`
	// Gateway is the pool's gateway when the lease began. It is never allocated.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Profile is the profile that selected the pool, or "". Options are the user's options.
	Profile string            `json:"profile,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Activation is the number of the client's start that last requested the lease. Term distinguishes
	// successive leases with one identifier.
	Activation int    `json:"activation,omitempty"`
	Term       string `json:"term"`
	// Used is true after an address was requested, which proves that the client has received the lease. Users
	// identifies the users in the global space.
	Used  bool     `json:"used,omitempty"`
	Users []string `json:"users,omitempty"`
	// Network is the network that the client named since it last requested the lease, or "". It is set in the
	// local space only; see RecordNetwork.
	Network string `json:"network,omitempty"`
	// Since is the begin of the lease.
	Since time.Time `json:"since"`
}

// Driver manages this node's leases. It is safe for concurrent use.
type Driver struct {
	options Options
	// spaces has the local and the global space.
	spaces []*space
	starts *record.Table[start]
	// life identifies this process, and number makes its names unique; see uniqueName.
	life   string
	number atomic.Uint64

	// mutex serializes changes of leases, and guards undelivered and gone.
	mutex sync.Mutex
	// undelivered holds the leases with a failed or uncertain write: the client has not received them.
	undelivered map[string]bool
	// gone has the allocations that the last sweep found unused, with the time of the first such sweep.
	gone map[string]time.Time
}

// start describes the last start of the client.
type start struct {
	Activation int       `json:"activation"`
	At         time.Time `json:"at"`
}

// keyStart is the only key of the table starts.
const keyStart = "last"

// New returns a driver.
func New(o Options) *Driver {
	o.Grace = cmp.Or(o.Grace, 10*time.Minute)
	local := &space{name: LocalSpace, short: "local", owners: "pool/", table: record.New[LeasedPool](o.Store, o.Node, "lease")}
	if o.Node != "" {
		local.owners += o.Node + "/"
	}
	global := &space{name: GlobalSpace, short: "global", owners: "pool/", shared: true,
		table: record.New[LeasedPool](o.Store, "", "lease-global")}
	return &Driver{
		options:     o,
		spaces:      []*space{local, global},
		starts:      record.New[start](o.Store, o.Node, "lease-start"),
		life:        o.Node + "-" + strconv.FormatInt(o.Clock.Now().UnixNano(), 36),
		undelivered: map[string]bool{},
		gone:        map[string]time.Time{},
	}
}

// uniqueName returns a name that no other process uses.
func (l *Driver) uniqueName() string { return l.life + "-" + strconv.FormatUint(l.number.Add(1), 36) }

// Activate starts a new activation: the client has restarted and requests its leases again. It fails if the ledger
// does.
func (l *Driver) Activate(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	err := l.starts.Update(ctx, keyStart, func(last *start) (*start, error) {
		next := start{Activation: 1, At: l.options.Clock.Now().UTC()}
		if last != nil {
			next.Activation += last.Activation
		}
		return &next, nil
	})
	if err != nil {
		return fmt.Errorf("recording the start of the client: %w", err)
	}
	return nil
}

// activation returns the number of the last start.
func (l *Driver) activation(ctx context.Context) (int, error) {
	last, _, err := l.starts.Get(ctx, keyStart)
	if err != nil {
		return 0, fmt.Errorf("reading the last start of the client: %w", err)
	}
	return last.Activation, nil
}

// space is an address space.
type space struct {
	// name is the name for the client. short is the prefix of lease identifiers.
	name, short string
	// owners is the prefix of the owners' keys, with the node of a local space.
	owners string
	// shared is true if several nodes share the leases.
	shared bool
	table  *record.Table[LeasedPool]
}

// space returns the space with a name.
func (l *Driver) space(name string) (*space, error) {
	for _, s := range l.spaces {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no address space %q; there are %s and %s", link.ErrImpossible, name, LocalSpace,
		GlobalSpace)
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
	for _, s := range l.spaces {
		if _, _, ok := s.parse(id); ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: %q is not the identifier of a pool", ErrUnknown, id)
}

// owner returns the owner of an address of a lease.
func (s *space) owner(id string, address netip.Addr) network.Owner {
	return network.Owner{Contract: Contract, Key: s.owners + id + "/" + address.String()}
}

// parseOwner parses an owner's key to lease and address.
func (s *space) parseOwner(owner network.Owner) (id string, address netip.Addr, ok bool) {
	key, begins := strings.CutPrefix(owner.Key, s.owners)
	at := max(strings.LastIndex(key, "/"), 0)
	address, err := netip.ParseAddr(strings.TrimPrefix(key[at:], "/"))
	_, _, is := s.parse(key[:at])
	return key[:at], address, is && begins && err == nil
}

// Users of an address or a lease are recorded as words. The local space has one user, the node's client. The
// word of an address contains the term of its lease and the activation that last requested it:
//
//	lease/<term>/<activation>
//
// In the global space, a Swarm manager requests an address first. The node that runs the task then requests the
// same address by name. Both release it, in any order, and a new manager requests the addresses of the previous
// one. The address is free when both have released it:
//
//	swarm/<node>, task/<node>
const (
	wordLease = "lease/"
	wordSwarm = "swarm/"
	wordTask  = "task/"
)

// roleWord returns the word of the caller in the global space.
func (l *Driver) roleWord(options map[string]string) string {
	if _, swarm := options[optionSerial]; swarm {
		return wordSwarm + l.node()
	}
	return wordTask + l.node()
}

// node returns this node's name in words.
func (l *Driver) node() string { return cmp.Or(l.options.Node, "-") }

// otherNode returns another node with a task's word, or "".
func (l *Driver) otherNode(users []string) string {
	for _, word := range users {
		if node, is := strings.CutPrefix(word, wordTask); is && node != l.node() {
			return node
		}
	}
	return ""
}

// remainingUsers returns the remaining users after this node releases something. The first release comes from the node's
// task, the second from a manager, on any node. A node that is no user removes nothing.
func (l *Driver) remainingUsers(users []string) []string {
	var leaving string
	if task := wordTask + l.node(); slices.Contains(users, task) {
		leaving = task
	} else if slices.Contains(users, wordSwarm+l.node()) {
		leaving = wordSwarm
	}
	return slices.DeleteFunc(slices.Clone(users), func(word string) bool {
		return word == leaving || leaving == wordSwarm && strings.HasPrefix(word, wordSwarm)
	})
}

// addWord adds a word if it is missing.
func addWord(users []string, word string) []string {
	if slices.Contains(users, word) {
		return users
	}
	return append(slices.Clone(users), word)
}
