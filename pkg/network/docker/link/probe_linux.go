// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// probeMark marks links for probing. No network has this name, and the next reconciliation removes leftovers.
var probeMark = mark{network: "probe"}

// Probe returns for each kind the reason why this kernel or process does not support it, or nil. It creates one
// link of each kind in a temporary network namespace, or in this one if it may not create namespaces, and
// removes them.
func (k *Kernel) Probe(ctx context.Context) map[Kind]error {
	faults, err := run(ctx, k, "trying the kinds of links", []string{"network/" + probeMark.network}, func(ctx context.Context, c *conn) (map[Kind]error, error) {
		if err := c.permitted(ctx); err != nil {
			return nil, err
		}
		var faults map[Kind]error
		err := apart(k, func(own *conn) { faults = own.try(ctx) })
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC) {
			return c.try(ctx), nil
		}
		return faults, err
	})
	if err == nil {
		return faults
	}
	faults = map[Kind]error{}
	for _, kind := range Kinds() {
		faults[kind] = err
	}
	return faults
}

// permitted returns an error if the process may not change links. It tries to change a link that does not
// exist.
func (c *conn) permitted(ctx context.Context) error {
	err := c.set(ctx, math.MaxInt32, settings{up: true})
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return fault("changing links", err)
}

// apart calls f in a temporary network namespace, which is removed with its links.
func apart(k *Kernel, f func(*conn)) error {
	runtime.LockOSThread()
	here, err := thisPlace()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer here.close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("making a network namespace: %w", err)
	}
	own, err := dial(k.timeout, k.place)
	if back := netns.Set(here.handle); back == nil {
		runtime.UnlockOSThread() // otherwise the thread ends with its goroutine
	}
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer own.close()
	f(own)
	return nil
}

// try creates and removes a link of each kind.
func (c *conn) try(ctx context.Context) map[Kind]error {
	random := make([]byte, 5)
	rand.Read(random)
	name := func(letter string) string { return "gp" + letter + hex.EncodeToString(random) }
	faults := map[Kind]error{}
	veth := c.once(ctx, vethOf(name("a"), name("b"), nil, settings{}), nil)
	bridge := c.once(ctx, creation{kind: "bridge", settings: settings{name: name("c")}}, nil)
	tunnel := c.once(ctx, tunnelOf(name("d"), Spec{VNI: MaxVNI}, nil, settings{}), nil)
	faults[Bridge] = firstOf(bridge, veth)
	faults[VXLAN] = firstOf(bridge, veth, tunnel)

	// This is a parent for the other kinds.
	parent := vethOf(name("a"), name("b"), nil, settings{up: true})
	if veth != nil {
		parent = creation{kind: "bridge", settings: settings{name: name("a"), up: true}}
	}
	err := c.once(ctx, parent, func(base netlink.Link) {
		for _, kind := range []Kind{Macvlan, Ipvlan, VLAN} {
			child := childOf(Spec{Kind: kind}, Port{Endpoint: "probe", VLAN: MaxVLAN}, base)
			child.name = name("e")
			faults[kind] = c.once(ctx, child, nil)
		}
	})
	for _, kind := range []Kind{Macvlan, Ipvlan, VLAN} {
		faults[kind] = firstOf(err, faults[kind])
	}
	return faults
}

// once creates a link, calls with, and removes the link even if the context ended.
func (c *conn) once(ctx context.Context, n creation, with func(netlink.Link)) error {
	if err := c.create(ctx, n); err != nil {
		return making(n.kind, n.kind, err)
	}
	ctx = context.WithoutCancel(ctx)
	link, err := c.byName(ctx, n.name)
	if link == nil || err != nil {
		return err
	}
	err = c.set(ctx, link.Attrs().Index, settings{alias: probeMark.String()})
	if err == nil && with != nil {
		with(link)
	}
	return errors.Join(err, c.delete(ctx, link))
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
