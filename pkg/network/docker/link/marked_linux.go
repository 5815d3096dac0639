// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"strings"

	"github.com/vishvananda/netlink"
)

// Marked lists the links of this namespace with our mark, in the order of their creation. While links change,
// it may include one that was just removed, but misses none that stays. Each list that it reads has its own
// timeout, because there may be thousands of links.
func (k *Kernel) Marked(ctx context.Context) ([]Marked, error) {
	links, err := k.list(ctx, func(ctx context.Context, c *conn) (dump, error) { return c.dump(ctx) })
	if err != nil {
		return nil, err
	}
	var marked []Marked
	for _, link := range links {
		marked = append(marked, marks(link)...)
	}
	return marked, nil
}

// list gathers links from lists, each with its own timeout and turn.
func (k *Kernel) list(ctx context.Context, read func(context.Context, *conn) (dump, error)) ([]netlink.Link, error) {
	return gather(func() (dump, error) { return run(ctx, k, "listing links", nil, read) })
}

// marks returns the users of a link according to its mark.
func marks(link netlink.Link) []Marked {
	a := link.Attrs()
	of, ok := parseMark(a.Alias)
	switch {
	case !ok:
		return nil
	case of.parent == "":
		return []Marked{{Name: a.Name, Network: of.network, Endpoint: of.endpoint, Index: a.Index}}
	}
	var users []Marked
	for _, name := range a.AltNames {
		if user, ok := strings.CutPrefix(name, userPrefix); ok {
			users = append(users, Marked{Name: a.Name, Network: user, Index: a.Index})
		}
	}
	if users == nil {
		return []Marked{{Name: a.Name, Index: a.Index}}
	}
	return users
}

// Remove removes a link if it still has the listed mark. It ignores a missing link. From a sub-interface of a
// parent it removes one user, and the interface with the last one.
func (k *Kernel) Remove(ctx context.Context, m Marked) error {
	return k.do(ctx, "removing "+m.Name, m.keys(), func(ctx context.Context, c *conn) error {
		link, err := c.byIndex(ctx, m.Index)
		if link == nil || err != nil {
			return err
		}
		for _, other := range marks(link) {
			if other.Network != m.Network || other.Endpoint != m.Endpoint {
				continue
			}
			if of, _ := parseMark(link.Attrs().Alias); of.parent != "" {
				return c.leaveSub(ctx, link, m.Network)
			}
			return c.delete(ctx, link)
		}
		return nil
	})
}

// keys returns the locks for changes of the link.
func (m Marked) keys() []string {
	if m.Endpoint != "" {
		return []string{"endpoint/" + m.Endpoint}
	}
	return []string{"network/" + m.Network, subLock}
}
