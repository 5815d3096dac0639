// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// probeMark marks links for probing. No network has this name, so that the reconciler removes leftovers.
var probeMark = Mark{Network: "probe"}

// Probe returns for each kind the reason why this kernel or process does not support it, or nil. It creates one link
// of each kind and removes it.
func (k *Kernel) Probe(ctx context.Context) map[Kind]error {
	faults := map[Kind]error{}
	for _, kind := range Kinds() {
		faults[kind] = k.do(ctx, "probe", kind, "probe", func(h session) error { return k.supports(h, kind) })
	}
	return faults
}

// supports returns the reason why the kernel lacks a kind of links. It asks the kernel until that has the kind.
func (k *Kernel) supports(h session, kind Kind) error {
	if _, known := k.supported.Load(kind); known {
		return nil
	}
	missing := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: math.MaxInt32}} // is this process permitted to change links?
	if err := h.LinkSetUp(missing); err != nil && !errors.Is(err, unix.ENODEV) {
		return explain("changing links", "", err)
	}
	err := h.apart(func(h session) error { return h.try(kind) })
	if err == nil {
		k.supported.Store(kind, true)
	}
	return err
}

// apart calls f with a socket in a temporary network namespace, or with h if the process may not create namespaces.
// The thread is locked.
func (h session) apart(f func(session) error) error {
	runtime.LockOSThread()
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("opening the network namespace: %w", err)
	}
	defer here.Close()
	temporary, err := netns.New()
	if err != nil {
		runtime.UnlockOSThread()
		return f(h)
	}
	defer temporary.Close()
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if back := netns.Set(here); back == nil {
		runtime.UnlockOSThread() // otherwise the thread ends with its goroutine
	}
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer handle.Close()
	return f(session{handle})
}

// try creates and removes the links of a kind. The parent of macvlan, ipvlan and VLANs is one end of a veth pair.
func (h session) try(kind Kind) error {
	name := "gp" + rand.Text()[:8]
	pair := &netlink.Veth{LinkAttrs: named(name + "v"), PeerName: name + "w"}
	bridge := &netlink.Bridge{LinkAttrs: named(name + "b")}
	switch kind {
	case Bridge:
		return errors.Join(h.temporary(bridge, nil), h.temporary(pair, nil))
	case VXLAN:
		return errors.Join(h.temporary(bridge, nil), h.temporary(pair, nil), h.temporary(vxlan(name+"x", Spec{VNI: MaxVNI}, nil), nil))
	}
	return h.temporary(pair, func(parent netlink.Link) error {
		return h.temporary(child(name+"c", Spec{Kind: kind}, Port{VLAN: MaxVLAN}, parent), nil)
	})
}

// temporary creates a link, calls use, and removes the link.
func (h session) temporary(link netlink.Link, use func(netlink.Link) error) error {
	made, err := h.create(link)
	if err != nil {
		return err
	}
	if err = h.LinkSetAlias(made, probeMark.String()); err == nil && use != nil {
		err = use(made)
	}
	return errors.Join(err, h.remove(made))
}
