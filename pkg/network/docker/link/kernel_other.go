// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package link

import (
	"context"
	"fmt"
	"net/netip"
)

// errLinux is the error of all methods on other systems.
var errLinux = fmt.Errorf("%w: only Linux has these links", ErrImpossible)

// Kernel is not supported on this system.
type Kernel struct{}

// Open returns an error, because only Linux has these links.
func Open(Options) (*Kernel, error) { return nil, errLinux }

// Close does nothing.
func (*Kernel) Close() error { return nil }

// Own fails.
func (*Kernel) Own() error { return errLinux }

// Probe returns an error for each kind.
func (*Kernel) Probe(context.Context) map[Kind]error {
	missing := map[Kind]error{}
	for _, kind := range Kinds() {
		missing[kind] = errLinux
	}
	return missing
}

// EnsureSegment fails.
func (*Kernel) EnsureSegment(context.Context, Segment) error { return errLinux }

// RemoveSegment fails.
func (*Kernel) RemoveSegment(context.Context, Segment) error { return errLinux }

// EnsurePort fails.
func (*Kernel) EnsurePort(context.Context, Segment, Port) (Port, error) { return Port{}, errLinux }

// RemovePort fails.
func (*Kernel) RemovePort(context.Context, Segment, string) error { return errLinux }

// RepairPort fails.
func (*Kernel) RepairPort(context.Context, Segment, Marked) error { return errLinux }

// SetPeers fails.
func (*Kernel) SetPeers(context.Context, Segment, []netip.Addr) error { return errLinux }

// Marked fails.
func (*Kernel) Marked(context.Context) ([]Marked, error) { return nil, errLinux }

// Remove fails.
func (*Kernel) Remove(context.Context, Marked) error { return errLinux }
