// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"
	"k8s.io/utils/keymutex"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// concurrency limits concurrent operations. The kernel creates links one after the other, but waits for removed
// ones concurrently.
const concurrency = 16

// buckets is the number of locks for networks and endpoints. Two that share one wait for each other.
const buckets = 1 << 12

// Kernel manages links in the network namespace where it was opened. It is safe for concurrent use.
type Kernel struct {
	timeout   time.Duration
	namespace netns.NsHandle
	slots     *semaphore.Weighted
	// keys are locked by operations on the same network or endpoint.
	keys keymutex.KeyMutex
	// parents is locked for changes of VLANs of parents, which several networks share.
	parents sync.Mutex
}

// Open returns a Kernel for the network namespace of the calling thread. timeout limits one operation, independent of the
// caller's deadline. It fails if the namespace cannot be opened.
func Open(timeout time.Duration) (*Kernel, error) {
	namespace, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("opening the network namespace: %w", err)
	}
	return &Kernel{timeout: timeout, namespace: namespace, slots: semaphore.NewWeighted(concurrency),
		keys: keymutex.NewHashed(buckets)}, nil
}

// Close waits for the operations that run, at most for the timeout, and releases the namespace. It fails, and keeps
// the namespace open, if one is still blocked in the kernel: it would otherwise continue with a descriptor that may
// mean another file.
func (k *Kernel) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), k.timeout)
	defer cancel()
	if err := k.slots.Acquire(ctx, concurrency); err != nil {
		return fmt.Errorf("waiting for calls that the kernel does not answer: %w", err)
	}
	return k.namespace.Close()
}

// Own locks the network namespace for this process until Close or its end, because two processes with different
// ledgers would remove each other's links. The error wraps network.ErrTaken if another process has the lock. It
// is an flock(2) on the namespace (nsfs), which works across containers.
func (k *Kernel) Own() error {
	switch err := unix.Flock(int(k.namespace), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("%w: another process manages Docker's links in this network namespace: stop it", network.ErrTaken)
	case err != nil:
		return fmt.Errorf("locking the network namespace: %w", err)
	}
	return nil
}

// do calls f with a new netlink socket, exclusively for a key. It returns when the context or the timeout ends,
// although f may still be blocked in the kernel: then f keeps the key until it returns. Waiting for a slot has a
// timeout of its own, so that many concurrent operations succeed.
func (k *Kernel) do(ctx context.Context, key string, f func(session) error) error {
	waiting, stop := context.WithTimeout(ctx, k.timeout)
	defer stop()
	if err := k.slots.Acquire(waiting, 1); err != nil {
		return fmt.Errorf("waiting for calls that the kernel does not answer: %w: %w", network.ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer k.slots.Release(1)
		k.keys.LockKey(key)
		defer func() { _ = k.keys.UnlockKey(key) }()
		if ctx.Err() != nil {
			return // the caller does not wait any more
		}
		done <- k.inNamespace(f)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the kernel: %w: %w", network.ErrUnavailable, ctx.Err())
	}
}

// inNamespace calls f on a thread in the namespace.
func (k *Kernel) inNamespace(f func(session) error) (err error) {
	runtime.LockOSThread()
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("opening the network namespace: %w", err)
	}
	defer func() { _ = here.Close() }()
	if here.Equal(k.namespace) {
		defer runtime.UnlockOSThread()
	} else if err := netns.Set(k.namespace); err != nil { // the thread ends with its goroutine
		return fmt.Errorf("entering the network namespace: %w", err)
	}
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer handle.Close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: reading an answer of the kernel: %v", network.ErrUnavailable, p)
		}
	}()
	if err := handle.SetSocketTimeout(k.timeout); err != nil {
		return fmt.Errorf("setting the timeout of a netlink socket: %w", err)
	}
	return f(session{handle})
}

// Marked lists the links of this namespace with our mark, in the order of their creation. While links change,
// it may include one that was just removed, but misses none that stays. It fails after the deadline of a kernel call.
func (k *Kernel) Marked(ctx context.Context) ([]Marked, error) {
	var marked []Marked
	err := k.do(ctx, "list", func(h session) error {
		links, err := h.links()
		for _, link := range links {
			if m, ok := parseMark(link.Attrs().Alias); ok {
				marked = append(marked, Marked{Name: link.Attrs().Name, Mark: m})
			}
		}
		return err
	})
	if err != nil {
		return nil, err // the list may still be written
	}
	return marked, nil
}

// session is a netlink socket for one operation.
type session struct{ *netlink.Handle }

// find returns the result of looking up a link, or nil if there is none.
func (h session) find(link netlink.Link, err error) (netlink.Link, error) {
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) || errors.Is(err, unix.ENODEV) {
		return nil, nil //nolint:nilnil // no link is a valid answer
	}
	return link, wrapError("looking for a link", "", err)
}

// ownLink returns the link with a name and our mark, or nil. It fails for another mark; a link without one is
// incomplete.
func (h session) ownLink(name string, m Mark) (netlink.Link, error) {
	link, err := h.find(h.LinkByName(name))
	if link != nil && link.Attrs().Alias != "" && link.Attrs().Alias != m.String() {
		return nil, fmt.Errorf("%w: there is a link %s already, which is for %q", network.ErrTaken, name, link.Attrs().Alias)
	}
	return link, err
}

// links returns all links of this namespace. If they change while the kernel lists them, it reads the list again,
// and finally returns all links that it saw.
func (h session) links() ([]netlink.Link, error) {
	seen := map[int]netlink.Link{}
	for range 5 {
		links, err := h.LinkList()
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, wrapError("listing links", "", err)
		}
		for _, link := range links {
			seen[link.Attrs().Index] = link
		}
		if err == nil {
			break
		}
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b netlink.Link) int { return a.Attrs().Index - b.Attrs().Index }),
		nil
}

// create creates a link and returns it as the kernel has it.
func (h session) create(link netlink.Link) (netlink.Link, error) {
	name := link.Attrs().Name
	if err := h.LinkAdd(link); err != nil {
		return nil, wrapError(fmt.Sprintf("making %s of kind %s", name, link.Type()), link.Type(), err)
	}
	made, err := h.find(h.LinkByName(name))
	if err == nil && made == nil {
		err = fmt.Errorf("%w: the link %s was removed by another program", network.ErrUnavailable, name)
	}
	return made, err
}

// ensure returns the link with the name of want and our mark. It creates a missing one, and replaces one that does
// not fit.
func (h session) ensure(want netlink.Link, m Mark, fits func(netlink.Link) bool) (netlink.Link, error) {
	link, err := h.ownLink(want.Attrs().Name, m)
	if err == nil && link != nil && !fits(link) {
		err, link = h.remove(link), nil
	}
	if err != nil || link != nil {
		return link, err
	}
	return h.create(want)
}

// remove removes a link. It ignores a missing one.
func (h session) remove(link netlink.Link) error {
	if err := h.LinkDel(link); !errors.Is(err, unix.ENODEV) {
		return wrapError("removing "+link.Attrs().Name, "", err)
	}
	return nil
}

// removeOwn removes the link with a name if it is ours, complete or not. It keeps links with another mark.
func (h session) removeOwn(name string, m Mark) error {
	link, err := h.ownLink(name, m)
	if errors.Is(err, network.ErrTaken) {
		return nil
	}
	if err != nil || link == nil {
		return err
	}
	return h.remove(link)
}

// apply sets the attributes of a link: MTU, MAC address and master if they are set in want, the mark, and the state up.
// It changes only differences, because changes block all other links of the machine. With quiet, a link that is set up
// gets no automatic IPv6 address.
func (h session) apply(link netlink.Link, want netlink.LinkAttrs, up, quiet bool) error {
	is := link.Attrs()
	quiet = quiet && (is.Alias == "" || up && is.RawFlags&unix.IFF_UP == 0)
	for _, change := range []struct {
		needed bool
		make   func() error
	}{
		{want.MTU != 0 && want.MTU != is.MTU, func() error { return h.LinkSetMTU(link, want.MTU) }},
		{want.HardwareAddr != nil && !slices.Equal(want.HardwareAddr, is.HardwareAddr), func() error {
			return h.LinkSetHardwareAddr(link, want.HardwareAddr)
		}},
		{want.MasterIndex != 0 && want.MasterIndex != is.MasterIndex, func() error {
			return h.LinkSetMasterByIndex(link, want.MasterIndex)
		}},
		{quiet, func() error {
			if err := h.LinkSetIP6AddrGenMode(link, addressesNone); !errors.Is(err, unix.EAFNOSUPPORT) {
				return err
			}
			return nil // IPv6 is disabled on this machine or for this MTU
		}},
		{want.Alias != is.Alias, func() error { return h.LinkSetAlias(link, want.Alias) }},
		{up && is.RawFlags&unix.IFF_UP == 0, func() error { return h.LinkSetUp(link) }},
	} {
		if !change.needed {
			continue
		}
		if err := change.make(); err != nil {
			return wrapError("setting up "+is.Name, link.Type(), err)
		}
	}
	return nil
}

// wrapError adds what was tried to an error of the kernel. If the process or the kernel lacks something, it also adds
// ErrImpossible and a hint. kind is the kind of the created or changed link, or "".
func wrapError(what, kind string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w: this process needs CAP_NET_ADMIN in its network namespace: %w", what, ErrImpossible, err)
	case errors.Is(err, unix.EOPNOTSUPP) && kind != "":
		module := kind
		if kind == string(VLAN) {
			module = "8021q"
		}
		return fmt.Errorf("%s: %w: this kernel has no %s: modprobe %s: %w", what, ErrImpossible, kind, module, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// addressesNone disables automatic IPv6 addresses (IN6_ADDR_GEN_MODE_NONE).
const addressesNone = 1

// Probe returns for each kind the reason why this kernel or process does not support it, or nil. It creates no links.
func (k *Kernel) Probe(ctx context.Context) map[Kind]error {
	faults := map[Kind]error{}
	for _, kind := range Kinds() {
		faults[kind] = k.do(ctx, "probe", func(h session) error { return h.supports(kind) })
	}
	return faults
}

// supports returns the reason why the kernel or the process lacks a kind of link. It requests links of the needed types
// with an invalid MAC address and parent: a kernel without the type refuses the type, and others refuse these values.
func (h session) supports(kind Kind) error {
	types := []string{string(kind)}
	switch kind {
	case Bridge:
		types = []string{"bridge", "veth"}
	case VXLAN:
		types = []string{"bridge", "veth", "vxlan"}
	}
	for _, needed := range types {
		invalid := &netlink.GenericLink{LinkAttrs: newAttributes("gpprobe"), LinkType: needed}
		invalid.HardwareAddr, invalid.ParentIndex = net.HardwareAddr{1, 0, 0, 0, 0, 0}, math.MaxInt32
		err := h.LinkAdd(invalid)
		if !errors.Is(err, unix.EADDRNOTAVAIL) && !errors.Is(err, unix.ENODEV) {
			return wrapError("making a link of kind "+needed, needed, err)
		}
	}
	return nil
}
