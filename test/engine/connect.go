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

// Connect puts a cable between two machines: an interface of this name on each, up and without addresses. It is gone
// when one of them is.
func Connect(ctx context.Context, a, b *Machine, name string) error {
	// The interfaces are made where they belong: none is on the machine that all this runs on, not for a moment.
	if _, err := a.link(ctx, "add", name, "type", "veth", "peer", "name", name, "netns", strconv.Itoa(b.first.Process.Pid)); err != nil {
		return fmt.Errorf("connecting two machines: %w", err)
	}
	for _, m := range []*Machine{a, b} {
		if _, err := m.link(ctx, "set", name, "up"); err != nil {
			return fmt.Errorf("bringing %s up: %w", name, err)
		}
	}
	return nil
}

// link runs ip link in the machine's namespace of networks, and in no other of its namespaces, so that processes have
// the numbers that they have outside.
func (m *Machine) link(ctx context.Context, arguments ...string) (string, error) {
	enter := append([]string{"--target", strconv.Itoa(m.first.Process.Pid), "--net", "--", "ip", "link"}, arguments...)
	c := exec.CommandContext(ctx, "nsenter", enter...)
	c.Env = m.environment()
	return said(c)
}
