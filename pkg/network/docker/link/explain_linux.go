// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// modules maps kinds of links to the kernel's configuration options and modules.
var modules = map[string]struct{ option, module string }{
	"bridge":  {"CONFIG_BRIDGE", "bridge"},
	"veth":    {"CONFIG_VETH", "veth"},
	"macvlan": {"CONFIG_MACVLAN", "macvlan"},
	"ipvlan":  {"CONFIG_IPVLAN, and CONFIG_IPVLAN_L3S for mode l3s", "ipvlan"},
	"vlan":    {"CONFIG_VLAN_8021Q", "8021q"},
	"vxlan":   {"CONFIG_VXLAN", "vxlan"},
}

// explanations maps errors of the kernel to errors of this package and texts for users.
var explanations = []struct {
	errnos []unix.Errno
	err    error
	text   string
	// child is true if the explanation is for links on a parent only.
	child bool
}{
	{errnos: []unix.Errno{unix.EPERM, unix.EACCES}, err: ErrImpossible,
		text: "this process needs CAP_NET_ADMIN in its network namespace"},
	{errnos: []unix.Errno{unix.EAFNOSUPPORT}, err: ErrImpossible, text: "this machine has IPv6 switched off"},
	{errnos: []unix.Errno{unix.EAGAIN, unix.EINTR}, err: network.ErrUnavailable,
		text: "the kernel did not answer in time"},
	{errnos: []unix.Errno{unix.ENOBUFS, unix.ENOMEM}, err: network.ErrUnavailable,
		text: "the kernel is out of memory"},
	{errnos: []unix.Errno{unix.ENODEV}, err: network.ErrUnavailable, text: "another program has removed a link"},
	{errnos: []unix.Errno{unix.ENETDOWN}, err: network.ErrUnavailable, text: "the parent is down"},
	{errnos: []unix.Errno{unix.EEXIST}, err: network.ErrTaken,
		text: "another link uses its name, VLAN or VNI, perhaps in a container"},
	{errnos: []unix.Errno{unix.EADDRINUSE}, err: network.ErrTaken,
		text: "another link or program has its MAC address or UDP port"},
	{
		errnos: []unix.Errno{unix.EBUSY, unix.EINVAL}, err: network.ErrTaken, child: true,
		text: "its parent has links of another kind or mode, perhaps in containers, or cannot be a parent",
	},
	{errnos: []unix.Errno{unix.EXFULL}, err: network.ErrExhausted,
		text: "the bridge has 1023 ports, the maximum of Linux"},
	{errnos: []unix.Errno{unix.EMLINK, unix.ENOSPC}, err: network.ErrExhausted, text: "the parent supports no more interfaces"},
}

// wrapError wraps an error of the kernel: ErrImpossible if the kernel or the process lacks something,
// network.ErrUnavailable if a retry may succeed, network.ErrTaken if another link uses it. kind is the kind of the
// created or changed link, or "".
func wrapError(what, kind string, err error) error {
	errno, ok := errors.AsType[unix.Errno](err)
	if !ok {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	}
	if need, known := modules[kind]; known && errno == unix.EOPNOTSUPP {
		return fmt.Errorf("%s: %w: this kernel has no %s (%s): modprobe %s: %w", what, ErrImpossible, kind, need.option,
			need.module, err)
	}
	for _, e := range explanations {
		if slices.Contains(e.errnos, errno) && (!e.child || isChild(kind)) {
			return fmt.Errorf("%s: %w: %s: %w", what, e.err, e.text, err)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isChild reports whether links of a kind are on a parent.
func isChild(kind string) bool {
	return kind == string(Macvlan) || kind == string(Ipvlan) || kind == string(VLAN)
}
