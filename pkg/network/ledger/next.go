// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/netip"
	"strconv"

	"go4.org/netipx"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Next is an address of a part of a pool that is free, and given by choice, for whoever must know an address before there is its owner. It takes
// nothing: another one may be quicker, and then the next attempt, whose number is above 0, finds another one. The errors wrap
// network.ErrUnknownPool, ErrOutside where nothing of the part is ever given by choice, and ErrExhausted.
func (l *Ledger) Next(ctx context.Context, name string, within netip.Prefix, attempt int) (netip.Addr, error) {
	address, err := l.next(name, within, attempt)
	if err == nil {
		return address, nil
	}
	if doubted, settling := l.settle(ctx); settling != nil || !doubted {
		return address, err
	}
	return l.next(name, within, attempt)
}

func (l *Ledger) next(name string, within netip.Prefix, attempt int) (netip.Addr, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := l.pools[name]
	if of == nil {
		return netip.Addr{}, fmt.Errorf("%w %q", network.ErrUnknownPool, name)
	}
	part := netipx.RangeOfPrefix(within)
	at := of.family(within.Addr())
	if at < 0 || !of.indexes[at].Gives(part.From(), part.To()) {
		return netip.Addr{}, fmt.Errorf("%w: the pool %s gives no address of %s by choice", network.ErrOutside, name, within)
	}
	var jump uint64
	if attempt > 0 && l.shared != nil {
		// Another server may be making the same choices.
		jump = maphash.String(l.owners.seed, name+"/"+strconv.Itoa(attempt))
	}
	address, ok := of.indexes[at].Next(part.From(), part.To(), jump)
	if !ok {
		return address, noAddress(name, within)
	}
	return address, nil
}
