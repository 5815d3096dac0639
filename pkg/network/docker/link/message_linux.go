// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// settings are the changes of a link in one message; zero values mean no change. The kernel applies them one
// after the other, so that a failing message may have changed some.
type settings struct {
	// name is the new name.
	name   string
	alias  string
	mtu    int
	mac    []byte
	master int
	up     bool
	// quiet prevents an automatic IPv6 address when the link is set up.
	quiet bool
}

// creation describes a new link.
type creation struct {
	settings
	kind   string
	parent int
	// data writes the attributes of the kind.
	data func(*nl.RtAttr)
}

// create creates a link with name, MTU, MAC, master and state. It fails if the link exists. Other settings need
// a call of set.
func (c *conn) create(ctx context.Context, n creation) error {
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	parts := []nl.NetlinkRequestData{message, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(n.name))}
	parts = append(parts, n.attributes(message)...)
	if n.parent != 0 {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_LINK, nl.Uint32Attr(uint32(n.parent))))
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(n.kind))
	if n.data != nil {
		n.data(info.AddRtAttr(nl.IFLA_INFO_DATA, nil))
	}
	return c.send(ctx, unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, append(parts, info))
}

// set changes the link with an index.
func (c *conn) set(ctx context.Context, index int, s settings) error {
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(index)
	parts := []nl.NetlinkRequestData{message}
	if s.name != "" {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(s.name)))
	}
	return c.change(ctx, message, parts, s)
}

// setUp changes the link with an index and sets it up. It disables automatic IPv6 addresses first, because a
// link with a carrier gets one at once.
func (c *conn) setUp(ctx context.Context, index int, s settings) error {
	s.quiet, s.up = true, false
	if err := c.set(ctx, index, s); err != nil {
		return err
	}
	return c.set(ctx, index, settings{up: true})
}

// setNamed changes the link with a name.
func (c *conn) setNamed(ctx context.Context, name string, s settings) error {
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	return c.change(ctx, message, []nl.NetlinkRequestData{message, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name))}, s)
}

func (c *conn) change(ctx context.Context, message *nl.IfInfomsg, who []nl.NetlinkRequestData, s settings) error {
	parts := append(slices.Clone(who), s.attributes(message)...)
	if s.alias != "" {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_IFALIAS, []byte(s.alias)))
	}
	if s.quiet {
		families := nl.NewRtAttr(unix.IFLA_AF_SPEC, nil)
		families.AddRtAttr(unix.AF_INET6, nil).AddRtAttr(unix.IFLA_INET6_ADDR_GEN_MODE, nl.Uint8Attr(nl.IN6_ADDR_GEN_MODE_NONE))
		parts = append(parts, families)
	}
	err := c.send(ctx, unix.RTM_SETLINK, 0, parts)
	if s.quiet && errors.Is(err, unix.EAFNOSUPPORT) {
		s.quiet = false // IPv6 is disabled on this machine or for this MTU
		return c.change(ctx, message, who, s)
	}
	return err
}

// attributes returns the attributes that both messages share.
func (s settings) attributes(message *nl.IfInfomsg) []nl.NetlinkRequestData {
	var parts []nl.NetlinkRequestData
	if s.up {
		message.Flags, message.Change = unix.IFF_UP, unix.IFF_UP
	}
	if s.mtu != 0 {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(s.mtu))))
	}
	if len(s.mac) > 0 {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_ADDRESS, s.mac))
	}
	if s.master != 0 {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(s.master))))
	}
	return parts
}

// send sends a change and returns the kernel's error, with its message if there is one.
func (c *conn) send(ctx context.Context, kind, flags int, parts []nl.NetlinkRequestData) error {
	_, err := c.exchange(ctx, kind, flags|unix.NLM_F_ACK, parts)
	return err
}

// exchange sends a message and returns all answers.
func (c *conn) exchange(ctx context.Context, kind, flags int, parts []nl.NetlinkRequestData) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, late("asking the kernel no more", err)
	}
	request := nl.NewNetlinkRequest(kind, flags)
	request.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: c.raw}
	for _, part := range parts {
		request.AddData(part)
	}
	return request.Execute(unix.NETLINK_ROUTE, 0)
}
