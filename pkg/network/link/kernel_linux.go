// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package link

import (
	"context"
	"fmt"
	"net/netip"
)

// errSoon is all that other systems answer.
var errSoon = fmt.Errorf("%w: not yet made", ErrImpossible)

// Kernel makes links of Linux; on this system there are none.
type Kernel struct{}

// Open says that not yet made.
func Open(Options) (*Kernel, error) { return nil, errSoon }

// Close does nothing.
func (*Kernel) Close() error { return nil }

// Probe says of each kind that only Linux has it.
func (*Kernel) Probe(context.Context) map[Kind]error {
	missing := map[Kind]error{}
	for _, kind := range Kinds() {
		missing[kind] = errSoon
	}
	return missing
}

// EnsureSegment fails.
func (*Kernel) EnsureSegment(context.Context, Segment) error { return errSoon }

// RemoveSegment fails.
func (*Kernel) RemoveSegment(context.Context, Segment) error { return errSoon }

// EnsurePort fails.
func (*Kernel) EnsurePort(context.Context, Segment, Port) (Port, error) { return Port{}, errSoon }

// RemovePort fails.
func (*Kernel) RemovePort(context.Context, Segment, string) error { return errSoon }

// SetPeers fails.
func (*Kernel) SetPeers(context.Context, Segment, []netip.Addr) error { return errSoon }

// Marked fails.
func (*Kernel) Marked(context.Context) ([]Marked, error) { return nil, errSoon }

// Remove fails.
func (*Kernel) Remove(context.Context, Marked) error { return errSoon }
