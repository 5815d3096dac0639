// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"strings"

	"github.com/vishvananda/netlink"
)

// Marked lists the links of this namespace that bear our mark, in the order in which they were made. While links come and go, one that has gone in
// that moment may be among them; none that stays is missing. Each list that is read for it may take a timeout, as there may be thousands of links.
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

// list gathers links out of lists of which each has a deadline and a turn of its own.
func (k *Kernel) list(ctx context.Context, read func(context.Context, *conn) (dump, error)) ([]netlink.Link, error) {
	return gather(func() (dump, error) { return run(ctx, k, "listing links", nil, read) })
}

// marks are what a link says of whom it is for.
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

// Remove removes a link if it still bears the mark that was listed; nil also where it is gone. From a sub-interface of a parent it takes one network
// that uses it, and removes it with the last.
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

// keys are the locks of whoever else makes or removes the same link.
func (m Marked) keys() []string {
	if m.Endpoint != "" {
		return []string{"endpoint/" + m.Endpoint}
	}
	return []string{"network/" + m.Network, subLock}
}
