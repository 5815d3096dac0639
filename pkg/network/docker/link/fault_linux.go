// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// fault wraps an error of the kernel: ErrImpossible if the kernel or the process lacks something,
// network.ErrUnavailable if a retry may succeed. It returns other errors with the context only.
func fault(what string, err error) error {
	if err == nil || errors.Is(err, network.ErrUnavailable) || errors.Is(err, ErrImpossible) {
		return err
	}
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s: %w: this process needs CAP_NET_ADMIN in its network namespace: %w", what, ErrImpossible, err)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return fmt.Errorf("%s: %w: the kernel did not answer in time: %w", what, network.ErrUnavailable, err)
	case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("%s: %w: the kernel has no memory for it: %w", what, network.ErrUnavailable, err)
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%s: %w: the link went away meanwhile: %w", what, network.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// modules maps kinds of links to the kernel's configuration options and modules.
var modules = map[string]struct{ option, module string }{
	"bridge":  {"CONFIG_BRIDGE", "bridge"},
	"veth":    {"CONFIG_VETH", "veth"},
	"macvlan": {"CONFIG_MACVLAN", "macvlan"},
	"ipvlan":  {"CONFIG_IPVLAN", "ipvlan"},
	"vlan":    {"CONFIG_VLAN_8021Q", "8021q"},
	"vxlan":   {"CONFIG_VXLAN", "vxlan"},
}

// making is fault for the creation of a link.
func making(what, kind string, err error) error {
	switch {
	case !errors.Is(err, unix.EOPNOTSUPP):
		return fault(what, err)
	case err.Error() != unix.EOPNOTSUPP.Error() && !strings.Contains(err.Error(), unknownKind):
		return fmt.Errorf("%s: %w: %w", what, ErrImpossible, err) // the kernel supports the kind and rejects a setting
	default:
		need := modules[kind]
		return fmt.Errorf("%s: %w: this kernel has no %s (%s): modprobe %s: %w", what, ErrImpossible, kind, need.option, need.module, err)
	}
}

// unknownKind is the kernel's message with EOPNOTSUPP for an unsupported kind (rtnl_newlink in
// net/core/rtnetlink.c).
const unknownKind = "Unknown device type"
