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

// named allocates the given address.
func (w *wish) named(ctx context.Context, address netip.Addr) error {
	owner := w.space.owner(w.lease.ID, address)
	for range maximumChoices {
		held, err := w.options.Service.Get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && held.State == network.Releasing {
			if fresh, err := w.take(ctx, owner, address, []netip.Addr{address}); err != nil || fresh {
				return err
			}
			continue // another call took it for the same owner
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
			// It is not known whether the cloud has the unfinished allocation.
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

// lose checks whether a process was killed after it allocated an address and before it could answer. Then the
// address is unused.
func (w *wish) lose(ctx context.Context, held network.Allocation, address netip.Addr) error {
	w.lost = ""
	if w.space.shared || strings.HasPrefix(held.Holder.UID, w.life+"-") {
		return nil
	}
	unused, _, err := w.isUnused(ctx, w.space, w.lease, w.lease.Prefix, address)
	if unused {
		w.lost = held.Holder.UID
	}
	return err
}

// again reports whether an address that is already allocated from the lease belongs to the caller, and records
// the repeated request.
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

// disclaiming limits the time for undoing a request whose caller may have disconnected.
const disclaiming = 10 * time.Second

// disclaim undoes a request, identified by mark, and releases the address unless other users of a shared space
// have it.
func (w *wish) disclaim(ctx context.Context, owner network.Owner, address netip.Addr, mark string) {
	if !w.space.shared {
		w.undone(ctx, address, w.options.Service.ReleaseOf(ctx, owner, mark))
		return
	}
	ctx = context.WithoutCancel(ctx) // no other call would undo it
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

// undone reports that an address which could not be bound could not be released either, unless the caller
// disconnected: then the sweep releases it.
func (w *wish) undone(ctx context.Context, address netip.Addr, err error) {
	if err != nil && !errors.Is(err, ctx.Err()) {
		w.options.Report(fmt.Errorf("giving back %s, which could not be bound: %w", address, err))
	}
}
