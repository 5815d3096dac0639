// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// attributeNamespace is the attribute with a namespace's number (NETNSA_NSID in linux/net_namespace.h).
const attributeNamespace = 1

// inside returns a link in another network namespace, given by its number in this one, or nil if it is not
// visible.
func (c *conn) inside(ctx context.Context, namespace, index int) (netlink.Link, error) {
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(index)
	answers, err := c.exchange(ctx, unix.RTM_GETLINK, unix.NLM_F_ACK, []nl.NetlinkRequestData{message, target(namespace)})
	if unseen(err) || err == nil && len(answers) == 0 {
		return nil, nil // an invisible link is a valid answer
	}
	if err != nil {
		return nil, fault("looking into a sandbox", err)
	}
	return netlink.LinkDeserialize(nil, answers[0])
}

// away returns the link with a mark in a namespace to which links have moved from here, or nil if none is
// visible.
func (c *conn) away(ctx context.Context, of mark) (netlink.Link, error) {
	namespaces, err := c.namespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, namespace := range namespaces {
		answers, err := c.exchange(ctx, unix.RTM_GETLINK, unix.NLM_F_DUMP, []nl.NetlinkRequestData{nl.NewIfInfomsg(unix.AF_UNSPEC), target(namespace)})
		if unseen(err) {
			continue
		}
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fault("looking into a sandbox", err)
		}
		for _, answer := range answers {
			link, err := netlink.LinkDeserialize(nil, answer)
			if err == nil && link.Attrs().Alias == of.String() {
				return link, nil
			}
		}
	}
	return nil, nil // no link is a valid answer
}

// namespaces returns the numbers of the known network namespaces.
func (c *conn) namespaces(ctx context.Context) ([]int, error) {
	answers, err := c.exchange(ctx, unix.RTM_GETNSID, unix.NLM_F_DUMP, []nl.NetlinkRequestData{nl.NewRtGenMsg()})
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fault("listing network namespaces", err)
	}
	var numbers []int
	header := nl.NewRtGenMsg().Len()
	for _, answer := range answers {
		if len(answer) < header {
			continue
		}
		attributes, err := nl.ParseRouteAttr(answer[header:])
		if err != nil {
			continue
		}
		for _, attribute := range attributes {
			if attribute.Attr.Type == attributeNamespace && len(attribute.Value) >= 4 {
				if number := int32(nl.NativeEndian().Uint32(attribute.Value)); number >= 0 {
					numbers = append(numbers, int(number))
				}
			}
		}
	}
	return numbers, nil
}

func target(namespace int) *nl.RtAttr {
	return nl.NewRtAttr(unix.IFLA_TARGET_NETNSID, nl.Uint32Attr(uint32(namespace)))
}

// unseen reports whether an error means that a namespace or a link in it is gone or not accessible.
func unseen(err error) bool {
	return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENONET) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) ||
		errors.Is(err, unix.ENOENT)
}
