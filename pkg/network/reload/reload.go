// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package reload activates NetworkProfiles: all of them together or none. It compiles them, refuses changes that would
// remove allocated addresses from their pools, and keeps the active configuration on any error. A broken document never
// stops the server.
//
// It opens no files, stores or clouds itself. Start reading at Open, or at Check, which activates nothing.
package reload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options configure the reloading of an installation.
type Options struct {
	// Read reads the files with the profiles.
	Read func() ([]source.File, error)
	// Ignored returns the files in folders that Read does not treat as profiles; it may be nil.
	Ignored func() []string
	// Node is the node of the server; empty for a server of many nodes.
	Node string
	// EachNode reports that other nodes have servers with the same profiles, as a DaemonSet makes them.
	EachNode bool
	// Shared reports that several servers share the ledger.
	Shared bool
	// Cloud makes a declared cloud; it returns nil if a finding is an error.
	Cloud func(policy.CloudSpec) (cloud.Cloud, source.Findings)
	// Settle returns the time after the start of a cloud's call in which it may still take effect.
	Settle func(policy.CloudSpec) time.Duration
	// Service has the options of the service; its clock is also the clock of the limiters.
	Service service.Options
	// Metrics are not registered anywhere if they are nil.
	Metrics *Metrics
	Log     logr.Logger
}

// Reloader holds the active configuration and replaces it as a whole. A request uses one policy from its start to its
// end.
type Reloader struct {
	options Options
	reload  *watch.Reloader[*draft]
	ledger  *ledger.Ledger
	service *service.Service
	current atomic.Pointer[draft]
	// next is the time from which refused documents are tried again, because the conflicting addresses may have been
	// released.
	next time.Time
}

func newReloader(o Options) *Reloader {
	o.Metrics = cmp.Or(o.Metrics, NewMetrics(nil))
	r := &Reloader{options: o}
	r.reload = &watch.Reloader[*draft]{
		Read: func(context.Context) ([]source.File, error) { return o.Read() },
		Compile: func(_ context.Context, files []source.File) (*draft, error) {
			return r.options.draft(files, r.current.Load())
		},
		MayRetry: r.mayRetry, Ignored: o.Ignored, Metrics: o.Metrics.Metrics, Log: o.Log,
	}
	return r
}

// Check compiles the profiles without activating them, and returns the policy and its warnings. It fails with
// source.Findings for invalid profiles.
func Check(o Options) (*policy.Policy, source.Findings, error) {
	d, err := newReloader(o).reload.Check(context.Background())
	if err != nil {
		return nil, nil, err
	}
	return d.policy, d.warnings, nil
}

// Open compiles the profiles and opens the ledger. It fails with Stranded if held addresses would be outside of pools.
func Open(ctx context.Context, store ledger.Store, o Options) (*Reloader, error) {
	r := newReloader(o)
	r.reload.Activate = func(ctx context.Context, first *draft) (err error) {
		if r.ledger, err = ledger.Open(ctx, store, first.ledgerPools()...); err != nil {
			return err
		}
		r.service = service.New(r.ledger, first.servicePools(), o.Service)
		return r.activate(ctx, first)
	}
	if err := r.reload.Open(ctx); err != nil {
		return nil, err
	}
	r.reload.Activate = r.activate
	return r, nil
}

// Ledger returns the ledger.
func (r *Reloader) Ledger() *ledger.Ledger { return r.ledger }

// Service returns the service that allocates from the active pools.
func (r *Reloader) Service() *service.Service { return r.service }

// Policy returns the active policy.
func (r *Reloader) Policy() *policy.Policy { return r.current.Load().policy }

// Usage returns the usage of each active pool.
func (r *Reloader) Usage() map[string]ledger.Usage {
	usage := map[string]ledger.Usage{}
	for name := range r.Policy().Pools {
		usage[name] = r.ledger.Usage(name)
	}
	return usage
}

// Clouds returns the load of each cloud, including those that are no longer declared.
func (r *Reloader) Clouds() map[string]service.Load { return r.service.Loads() }

// Run looks for changes until the context ends.
func (r *Reloader) Run(ctx context.Context) {
	watch.Poll(ctx, nil, func(ctx context.Context) { _ = r.Load(ctx) }) // which is logged and counted
}

// Load activates the current files if they have changed. If it fails, the active configuration stays.
func (r *Reloader) Load(ctx context.Context) error {
	err := r.reload.Load(ctx)
	if ctx.Err() == nil {
		stranded, _ := errors.AsType[*Stranded](err)
		r.options.Metrics.strand(stranded)
	}
	return err
}

// Limits of the pause before refused documents are tried again. The pause is a multiple of the attempt's duration,
// because no addresses are allocated during an attempt.
const (
	leastPause = 10 * time.Second
	pauses     = 50
)

// mayRetry reports whether unchanged documents may succeed now that failed with err.
func (r *Reloader) mayRetry(_ context.Context, err error) bool {
	_, inTheWay := errors.AsType[*Stranded](err)
	return inTheWay && !r.options.Service.Clock.Now().Before(r.next)
}

// activate makes the ledger, the service and then the codecs see the next configuration. It fails with Stranded if held
// addresses would be outside of pools.
func (r *Reloader) activate(ctx context.Context, next *draft) error {
	drained, began := map[string]int{}, r.options.Service.Clock.Now()
	refused, err := r.ledger.Configure(ctx, func(a network.Allocation) bool {
		refuse := r.leavesPool(next, a)
		if !refuse {
			drained[a.Pool]++
		}
		return refuse
	}, next.ledgerPools()...)
	if err != nil {
		return fmt.Errorf("changing the pools: %w", err)
	}
	if len(refused) > 0 {
		now := r.options.Service.Clock.Now()
		r.next = now.Add(max(leastPause, pauses*now.Sub(began)))
		return newStranded(refused, next.policy)
	}
	before := r.current.Load()
	r.service.Configure(next.servicePools(), next.clouds)
	r.current.Store(next)
	r.logActivated(before, next, drained)
	return nil
}

// leavesPool reports whether an allocation would be outside of its pool in the new policy. It ignores unknown pools of
// other servers on a shared ledger.
func (r *Reloader) leavesPool(next *draft, a network.Allocation) bool {
	if pool := next.policy.Pool(a.Pool); pool != nil {
		return !pool.Drain
	}
	before := r.current.Load()
	return !r.options.Shared || before != nil && before.policy.Pool(a.Pool) != nil
}

// logActivated logs and counts the new active configuration.
func (r *Reloader) logActivated(before, next *draft, drained map[string]int) {
	log := r.options.Log
	r.reload.LogActive(profile.Summaries(next.documents), next.policy.Hash, next.warnings, "pools", len(next.policy.Pools), "choices", next.policy.ProfileNames())
	for pool, count := range drained {
		if next.policy.Pool(pool) != nil {
			log.Info("Allocations are outside of their pool now: they stay with their owners, and are not allocated again after their release", "pool", pool, "allocations", count)
		}
	}
	r.logClouds(before, next)
}

// logClouds logs changes of clouds with bindings.
func (r *Reloader) logClouds(before, next *draft) {
	if before == nil {
		return
	}
	for name, pool := range next.policy.Pools {
		if was := before.policy.Pool(name); was != nil && was.Cloud != pool.Cloud {
			r.options.Log.Info("The cloud of the pool changed: existing bindings stay in the previous cloud, and are released there",
				"pool", name, "cloud", cmp.Or(pool.Cloud, v1alpha1.CloudBuiltin), "before", cmp.Or(was.Cloud, v1alpha1.CloudBuiltin))
		}
	}
	for name := range before.declared {
		if _, stays := next.declared[name]; !stays {
			r.options.Log.Info("A cloud was removed from the profiles: its bindings are released until this server stops, and then wait. "+
				"Declare it again to release them later", "cloud", name)
		}
	}
}
