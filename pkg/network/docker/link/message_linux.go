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

// settings are what one message says of a link; what is zero stays as it is. The kernel does them one after the other: a message that fails may
// have done some.
type settings struct {
	// name is the one that the link gets.
	name   string
	alias  string
	mtu    int
	mac    []byte
	master int
	up     bool
	// quiet leaves the link without an IPv6 address of its own, once it is up.
	quiet bool
}

// creation is a link that is to be made.
type creation struct {
	settings
	kind   string
	parent int
	// data writes what is particular to the kind.
	data func(*nl.RtAttr)
}

// create makes a link that must not be there yet: its name, MTU, MAC, master and state. What else its settings say is for set.
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

// set changes the link of a number.
func (c *conn) set(ctx context.Context, index int, s settings) error {
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(index)
	parts := []nl.NetlinkRequestData{message}
	if s.name != "" {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(s.name)))
	}
	return c.change(ctx, message, parts, s)
}

// setUp changes the link of a number and brings it up, after it was told to have no IPv6 address of its own: with a carrier it would have it at once.
func (c *conn) setUp(ctx context.Context, index int, s settings) error {
	s.quiet, s.up = true, false
	if err := c.set(ctx, index, s); err != nil {
		return err
	}
	return c.set(ctx, index, settings{up: true})
}

// setNamed changes the link of a name.
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
		s.quiet = false // there is no IPv6 on this machine, or with this MTU
		return c.change(ctx, message, who, s)
	}
	return err
}

// attributes are those that both messages have.
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

// send asks the kernel for a change and reads its answer, which is an errno, with a text where the kernel has one.
func (c *conn) send(ctx context.Context, kind, flags int, parts []nl.NetlinkRequestData) error {
	_, err := c.exchange(ctx, kind, flags|unix.NLM_F_ACK, parts)
	return err
}

// exchange sends a message and reads all that the kernel answers.
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
