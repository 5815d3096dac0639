// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// dumps limits the repetitions of a list that changed while the kernel wrote it.
const dumps = 5

// conn is a netlink connection for one operation at a time. Its calls fail after the context has ended.
type conn struct {
	// handle has the calls of the library; raw is for messages that do several things at once.
	handle *netlink.Handle
	raw    *nl.SocketHandle
	place  place
	// busy is shared by all connections.
	busy *busy
}

// dial opens a connection in the network namespace of the calling thread, which must be at.
func dial(timeout time.Duration, at place) (*conn, error) {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	socket, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		handle.Close()
		return nil, err
	}
	c := &conn{handle: handle, raw: &nl.SocketHandle{Socket: socket}, place: at, busy: &busy{}}
	limit := unix.NsecToTimeval(timeout.Nanoseconds())
	// In strict mode, the kernel filters lists (Linux 4.20). Otherwise the result is filtered here.
	_ = unix.SetsockoptInt(socket.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)
	err = errors.Join(handle.SetSocketTimeout(timeout), socket.SetSendTimeout(&limit), socket.SetReceiveTimeout(&limit), socket.SetExtAck(true))
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) close() {
	c.handle.Close()
	c.raw.Close()
}

// ask calls the library unless the context has ended.
func (c *conn) ask(ctx context.Context, talk func(*netlink.Handle) error) error {
	if err := ctx.Err(); err != nil {
		return late("asking the kernel no more", err)
	}
	return talk(c.handle)
}

// byName returns the link with a name, or nil.
func (c *conn) byName(ctx context.Context, name string) (netlink.Link, error) {
	return c.found(ctx, func(h *netlink.Handle) (netlink.Link, error) { return h.LinkByName(name) })
}

// byIndex returns the link with an index, or nil.
func (c *conn) byIndex(ctx context.Context, index int) (netlink.Link, error) {
	return c.found(ctx, func(h *netlink.Handle) (netlink.Link, error) { return h.LinkByIndex(index) })
}

func (c *conn) found(ctx context.Context, get func(*netlink.Handle) (netlink.Link, error)) (link netlink.Link, err error) {
	err = c.ask(ctx, func(h *netlink.Handle) error {
		link, err = get(h)
		return err
	})
	var none netlink.LinkNotFoundError
	switch {
	case errors.As(err, &none), errors.Is(err, unix.ENODEV):
		return nil, nil // no link is a valid answer
	case err != nil:
		return nil, fault("looking at a link", err)
	default:
		return link, nil
	}
}

// dump is a list of links. interrupted is true if they changed while the kernel wrote it.
type dump struct {
	links       []netlink.Link
	interrupted bool
}

// dump lists all links of this namespace once.
func (c *conn) dump(ctx context.Context) (d dump, err error) {
	err = c.ask(ctx, func(h *netlink.Handle) (err error) {
		d.links, err = h.LinkList()
		return err
	})
	if d.interrupted = errors.Is(err, netlink.ErrDumpInterrupted); d.interrupted {
		err = nil
	}
	if err != nil {
		return dump{}, fault("listing links", err)
	}
	return d, nil
}

// links returns all links of this namespace. If they change faster than they can be read, it includes all links
// that were seen.
func (c *conn) links(ctx context.Context) ([]netlink.Link, error) {
	return gather(func() (dump, error) { return c.dump(ctx) })
}

// gather repeats read until a list is complete, at most dumps times, and returns the union, each link as last
// seen.
func gather(read func() (dump, error)) ([]netlink.Link, error) {
	seen := map[int]netlink.Link{}
	var order []int
	for range dumps {
		d, err := read()
		if err != nil {
			return nil, err
		}
		for _, link := range d.links {
			index := link.Attrs().Index
			if _, known := seen[index]; !known {
				order = append(order, index)
			}
			seen[index] = link
		}
		if !d.interrupted {
			break
		}
	}
	all := make([]netlink.Link, len(order))
	for i, index := range order {
		all[i] = seen[index]
	}
	return all, nil
}

// delete removes a link. It ignores a missing one.
func (c *conn) delete(ctx context.Context, link netlink.Link) error {
	err := c.ask(ctx, func(h *netlink.Handle) error { return h.LinkDel(link) })
	if err == nil || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return fault("removing "+link.Attrs().Name, err)
}

// own returns the link with a name and our mark, or nil. A link without a mark is incomplete; one with another
// mark is an error.
func (c *conn) own(ctx context.Context, name string, of mark) (netlink.Link, error) {
	link, err := c.byName(ctx, name)
	if link == nil || err != nil {
		return nil, err
	}
	if !of.may(link) {
		return nil, fmt.Errorf("%w: there is a link %s already, which is for %q", network.ErrTaken, name, link.Attrs().Alias)
	}
	return link, nil
}

// may reports whether a link with one of our names can be that of the mark: it has the mark or none yet.
func (m mark) may(link netlink.Link) bool {
	alias := link.Attrs().Alias
	return alias == "" || alias == m.String()
}

// removeOwn removes the link with a name if it is ours, complete or not. It keeps links with another mark.
func (c *conn) removeOwn(ctx context.Context, name string, of mark) error {
	link, err := c.byName(ctx, name)
	if link == nil || err != nil || !of.may(link) {
		return err
	}
	return c.delete(ctx, link)
}
