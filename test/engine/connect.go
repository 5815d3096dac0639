// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
)

// Connect connects two machines by a pair of interfaces with the given name, up and without addresses. The pair
// disappears with either machine.
func Connect(ctx context.Context, a, b *Machine, name string) error {
	// The interfaces are created in the machines' namespaces, so that the host does not see them.
	if _, err := a.link(ctx, "add", name, "type", "veth", "peer", "name", name, "netns",
		strconv.Itoa(b.first.Process.Pid)); err != nil {
		return fmt.Errorf("connecting two machines: %w", err)
	}
	for _, m := range []*Machine{a, b} {
		if _, err := m.link(ctx, "set", name, "up"); err != nil {
			return fmt.Errorf("bringing %s up: %w", name, err)
		}
	}
	return nil
}

// link runs ip link in the machine's network namespace only, so that process IDs are those of the host.
func (m *Machine) link(ctx context.Context, arguments ...string) (string, error) {
	enter := append([]string{"--target", strconv.Itoa(m.first.Process.Pid), "--net", "--", "ip", "link"}, arguments...)
	c := exec.CommandContext(ctx, "nsenter", enter...)
	c.Env = m.environment()
	return said(c)
}
