// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// named gives an address that is asked for by name.
func (w *wish) named(ctx context.Context, address netip.Addr) error {
	owner := w.space.owner(w.lease.ID, address)
	for range maximumChoices {
		held, err := w.options.Service.Get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && held.State == network.Releasing {
			if fresh, err := w.take(ctx, owner, address, []netip.Addr{address}); err != nil || fresh {
				return err
			}
			continue // somebody else has taken it for the same owner meanwhile
		}
		if err != nil {
			return err
		}
		if err := w.lose(ctx, held, address); err != nil {
			return err
		}
		held, err = w.options.Service.Claim(ctx, owner, w.again)
		if errors.Is(err, network.ErrNotHeld) {
			continue
		}
		if err == nil && held.State == network.Intended {
			// It was begun, and nobody knows whether its cloud has it.
			if _, err = w.options.Service.Allocate(ctx, service.Request{Owner: owner, Pool: held.Pool, Addresses: held.Addresses}); err != nil {
				w.disclaim(ctx, owner, address, held.Holder.UID)
			}
		}
		if errors.Is(err, network.ErrTaken) {
			err = fmt.Errorf("%w: %s", err, address)
		}
		return err
	}
	return fmt.Errorf("%w: %s is given and given back again and again", network.ErrUnavailable, address)
}

// lose finds out whether an address was given by a process that was killed before it could answer: then it is known that nobody has it.
func (w *wish) lose(ctx context.Context, held network.Allocation, address netip.Addr) error {
	w.lost = ""
	if w.space.shared || strings.HasPrefix(held.Holder.UID, w.life+"-") {
		return nil
	}
	nobody, _, err := w.nobody(ctx, w.space, w.lease, w.lease.Prefix, address)
	if err != nil {
		return fmt.Errorf("asking who has %s: %w", address, err)
	}
	if nobody {
		w.lost = held.Holder.UID
	}
	return nil
}

// again says whether an address that is held out of the same lease is the caller's, and notes that he has asked again.
func (w *wish) again(h *network.Holder) error {
	if w.space.shared {
		if node := w.elsewhere(h.Aliases); node != "" && !w.gateway && w.word == wordTask+w.node() {
			return fmt.Errorf("%w on the node %s", network.ErrTaken, node)
		}
		w.joined = !slices.Contains(h.Aliases, w.word)
		h.Aliases = join(h.Aliases, w.word)
		return nil
	}
	switch {
	case w.lost != "" && h.UID == w.lost:
	case slices.Contains(h.Aliases, w.word):
		return fmt.Errorf("%w in this network", network.ErrTaken)
	case w.lease.Activation != w.activation:
		return fmt.Errorf("%w since before the client's start, and its network was not asked for again since then", network.ErrTaken)
	}
	h.Aliases, h.UID = []string{w.word}, w.unique()
	return nil
}

// disclaiming is how long it may take to take a claim back whose caller may have left.
const disclaiming = 10 * time.Second

// disclaim takes back a claim, given the mark of it, and the address with it unless others of a shared space ask for it too.
func (w *wish) disclaim(ctx context.Context, owner network.Owner, address netip.Addr, mark string) {
	if !w.space.shared {
		w.undone(ctx, address, w.options.Service.ReleaseOf(ctx, owner, mark))
		return
	}
	ctx = context.WithoutCancel(ctx) // nobody else would do it
	within, cancel := context.WithTimeout(ctx, disclaiming)
	defer cancel()
	w.undone(ctx, address, w.options.Service.Quit(within, owner, func(h *network.Holder) (own, over bool) {
		if !w.joined || h.UID != mark || !slices.Contains(h.Aliases, w.word) {
			return false, false
		}
		h.Aliases = slices.DeleteFunc(slices.Clone(h.Aliases), func(word string) bool { return word == w.word })
		return true, len(h.Aliases) == 0
	}))
}

// undone reports that an address which could not be bound is not given back either, unless that is because the caller has left: then it is given back later.
func (w *wish) undone(ctx context.Context, address netip.Addr, err error) {
	if err != nil && !errors.Is(err, ctx.Err()) {
		w.options.Report(fmt.Errorf("giving back %s, which could not be bound: %w", address, err))
	}
}
