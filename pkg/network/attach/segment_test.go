// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"strings"
	"testing"
)

// TestOtherFamily is that machines of the other family are left out of a tunnel, each said once, and that the others are reached.
func TestOtherFamily(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
		self    string
		nodes   []string
		ends    []string
		left    []string
	}{
		{
			name: "by the peers", options: []string{"peers=192.0.2.9"}, nodes: []string{"2001:db8::9", "192.0.2.3"},
			ends: []string{"192.0.2.9", "192.0.2.3"}, left: []string{"2001:db8::9"},
		},
		{
			name: "by the local address", options: []string{"local=2001:db8::1"}, nodes: []string{"2001:db8::9", "192.0.2.3"},
			ends: []string{"local 2001:db8::1", "2001:db8::9"}, left: []string{"192.0.2.3"},
		},
		{
			name: "by this machine", self: "2001:db8::1", nodes: []string{"2001:db8::9", "192.0.2.3"},
			ends: []string{"local 2001:db8::1", "2001:db8::9"}, left: []string{"192.0.2.3"},
		},
		{
			name: "this machine itself", options: []string{"peers=192.0.2.9"}, self: "2001:db8::1", nodes: []string{"192.0.2.3"},
			ends: []string{"192.0.2.9", "192.0.2.3"}, left: []string{"2001:db8::1"},
		},
		{name: "by nothing", nodes: []string{"1001:db8::9", "192.0.2.3"}, ends: []string{"192.0.2.3"}, left: []string{"1001:db8::9"}},
		{name: "of one alone", nodes: []string{"2001:db8::9"}, ends: []string{"2001:db8::9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(bare("net", append(c.options, "kind=vxlan", "vni=7")...))
			if c.self != "" {
				w.self(c.self)
			}
			for _, node := range c.nodes {
				w.must(discovered(node, false)(w))
			}
			w.must(w.Sweep(t.Context()))
			w.same("ends", c.ends, w.ends("net"))
			s := w.kernel.segments["net"]
			if problems := s.Problems(); len(problems) > 0 {
				t.Errorf("the kernel was told what cannot be: %v", problems)
			}
			if len(w.reports) != len(c.left) {
				t.Errorf("reported %s, not %s", w.reports, c.left)
			}
			for i, left := range c.left {
				if i < len(w.reports) && !strings.Contains(w.reports[i], "leaves out the machine "+left) {
					t.Errorf("reported %q, not that %s is left out", w.reports[i], left)
				}
			}
		})
	}
}
