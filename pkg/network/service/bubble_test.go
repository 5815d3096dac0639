// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"bytes"
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go4.org/netipx"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// rows is a store with commits that take no time in a bubble.
type rows struct {
	mutex sync.Mutex
	rows  map[string][]byte
}

func (r *rows) Commit(_ context.Context, changes ...ledger.Change) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, c := range changes {
		if stands := r.rows[c.Key]; (stands == nil) != (c.Was == nil) || !bytes.Equal(stands, c.Was) {
			return ledger.ErrConflict
		}
	}
	for _, c := range changes {
		if r.rows[c.Key] = c.Value; c.Value == nil {
			delete(r.rows, c.Key)
		}
	}
	return nil
}

func (r *rows) Get(_ context.Context, key string) ([]byte, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.rows[key], nil
}

func (r *rows) Scan(_ context.Context, prefix string, each func(key, value []byte) error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.rows)) {
		if strings.HasPrefix(key, prefix) {
			if err := each([]byte(key), r.rows[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rows) Close() error { return nil }

// limited is a cloud that rejects calls above a rate.
type limited struct {
	limiter *rate.Limiter
	takes   time.Duration

	mutex             sync.Mutex
	bound             map[string]bool
	calls, turnedAway int
	// under way now, and at most.
	running, most int
	order         []string
	// fails returns the error of each call; nil means that all calls succeed.
	fails func(call int) error
}

func (l *limited) call(what, key string) error {
	l.mutex.Lock()
	l.calls++
	l.running++
	l.most = max(l.most, l.running)
	l.order = append(l.order, what+" "+key)
	fails, call := l.fails, l.calls
	l.mutex.Unlock()
	time.Sleep(l.takes)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running--
	if l.limiter != nil && !l.limiter.Allow() {
		l.turnedAway++
		return cloud.NewRetryAfter(time.Second, "too many requests")
	}
	if fails != nil {
		if err := fails(call); err != nil {
			return err
		}
	}
	l.bound[key] = what == "bind"
	return nil
}

func (l *limited) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	return network.Binding{}, l.call("bind", a.Owner.Key)
}

func (l *limited) Unbind(_ context.Context, a network.Allocation) error {
	return l.call("unbind", a.Owner.Key)
}

// crowd is a service with a limited cloud, in a bubble.
func crowd(t *testing.T, l *limited, limit *service.Limit, o service.Options) *service.Service {
	t.Helper()
	l.bound = map[string]bool{}
	var b netipx.IPSetBuilder
	b.AddRange(netipx.MustParseIPRange("10.0.0.1-10.0.99.250"))
	dynamic, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	pool := ledger.Pool{Name: "pool", Subnets: []ledger.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/16"), Dynamic: dynamic}}}
	book, err := ledger.Open(t.Context(), &rows{rows: map[string][]byte{}}, pool)
	if err != nil {
		t.Fatal(err)
	}
	o.Clock = clock.RealClock{}
	of := service.Pool{Cloud: l}
	if limit != nil {
		of.Limiter = service.NewLimiter("fabric", *limit, o.Clock)
	}
	return service.New(book, map[string]service.Pool{"pool": of}, o)
}
