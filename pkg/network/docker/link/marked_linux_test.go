// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// TestKernelList holds that each list that is read for the links has a deadline of its own, and that there are not more and more of them.
func TestKernelList(t *testing.T) {
	m := newMachine(t)
	named := func(index int, name string) netlink.Link {
		return &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: index, Name: name}}
	}
	failed := errors.New("failed")
	for _, c := range []struct {
		name string
		read []dump
		want []string
		err  error
	}{
		{name: "at once", read: []dump{{links: []netlink.Link{named(1, "a"), named(2, "b")}}}, want: []string{"a", "b"}},
		{
			name: "interrupted",
			read: []dump{
				{links: []netlink.Link{named(1, "a"), named(2, "b")}, interrupted: true}, {links: []netlink.Link{named(3, "c"), named(2, "later")}},
			},
			want: []string{"a", "later", "c"},
		},
		{name: "again and again", read: slices.Repeat([]dump{{links: []netlink.Link{named(1, "a")}, interrupted: true}}, dumps), want: []string{"a"}},
		{name: "failing", read: []dump{{links: []netlink.Link{named(1, "a")}, interrupted: true}}, err: failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			var deadlines []time.Time
			links, err := m.Kernel.list(t.Context(), func(ctx context.Context, _ *conn) (dump, error) {
				deadline, _ := ctx.Deadline()
				deadlines = append(deadlines, deadline)
				if len(deadlines) > len(c.read) {
					return dump{}, failed
				}
				return c.read[len(deadlines)-1], nil
			})
			var names []string
			for _, link := range links {
				names = append(names, link.Attrs().Name)
			}
			if diff := cmp.Diff(c.want, names); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			for i := 1; i < len(deadlines); i++ {
				if !deadlines[i].After(deadlines[i-1]) {
					t.Errorf("list %d has the deadline %s, as the one before", i, deadlines[i])
				}
			}
		})
	}
}
