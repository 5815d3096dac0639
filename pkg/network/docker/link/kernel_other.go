// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package link

import (
	"context"
	"fmt"
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

// Probe returns nothing.
func (*Kernel) Probe(context.Context) map[Kind]error { return nil }

// EnsureSegment fails.
func (*Kernel) EnsureSegment(context.Context, Segment) error { return errLinux }

// RemoveSegment fails.
func (*Kernel) RemoveSegment(context.Context, Segment, bool) error { return errLinux }

// EnsurePort fails.
func (*Kernel) EnsurePort(context.Context, Segment, Port) (Port, error) { return Port{}, errLinux }

// RemovePort fails.
func (*Kernel) RemovePort(context.Context, Segment, string) error { return errLinux }

// Marked fails.
func (*Kernel) Marked(context.Context) ([]Marked, error) { return nil, errLinux }

// Remove fails.
func (*Kernel) Remove(context.Context, Marked) error { return errLinux }
