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

// probeMark is that of links which are made to try: no network is called so, and what is left of them goes with the next sweep.
var probeMark = mark{network: "probe"}

// Probe says of each kind why this kernel or this process cannot have it, and nil where it can. It makes one of each in a network namespace
// of its own, or in this one where it may make none; either way nothing is left.
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

// permitted says whether this process may change links here, by changing one that is not there.
func (c *conn) permitted(ctx context.Context) error {
	err := c.set(ctx, math.MaxInt32, settings{up: true})
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return fault("changing links", err)
}

// apart does something in a network namespace of its own, which goes with all that is in it.
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

// try makes one link of each kind and removes it.
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

	// A parent for the others, of whatever kind there is.
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

// once makes a link, does something with it, and removes it, whatever has become of the context.
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
