// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// orphans searches the clouds for bindings without an allocation, such as after the loss of a ledger.
type orphans struct {
	clouds      func() map[string]cloud.Cloud
	allocations cloud.Allocations
	period      time.Duration
	// remove deletes the bindings; otherwise they are only reported.
	remove bool
	log    logr.Logger

	found    *prometheus.GaugeVec
	removed  *prometheus.CounterVec
	failures prometheus.Counter
}

// newOrphans returns the search, or nil if the ledger has only the allocations of one of several nodes: the bindings of
// other nodes have the same names.
func (p *Parts) newOrphans(log logr.Logger, failures prometheus.Counter) *orphans {
	if p.Config.Ledger.Etcd == nil && (p.EachNode || p.Config.Node != "") {
		return nil
	}
	auto := promauto.With(p.Registry)
	return &orphans{
		clouds: p.Reloader.Service().Clouds, allocations: p.Reloader.Ledger().All,
		period: p.Config.Leaks.Period.Duration, remove: p.Config.Leaks.Mode == "free", log: log,
		found: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_cloud_orphans", Help: "Bindings of a cloud without an allocation at the last search, by cloud.",
		}, []string{"cloud"}),
		removed: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_cloud_orphans_removed_total", Help: "Bindings of a cloud deleted because they had no allocation, by cloud.",
		}, []string{"cloud"}),
		failures: failures,
	}
}

// run searches periodically until the context ends.
func (o *orphans) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for name, of := range o.clouds() {
			if lister, ok := of.(cloud.Lister); ok && ctx.Err() == nil {
				o.search(ctx, name, lister)
			}
		}
	}, o.period)
}

// search looks at one cloud.
func (o *orphans) search(ctx context.Context, name string, lister cloud.Lister) {
	ctx, cancel := context.WithTimeout(ctx, o.period)
	defer cancel()
	all, err := lister.Orphans(ctx, o.allocations, o.remove)
	left := 0
	for _, orphan := range all {
		if !orphan.Removed {
			left++
		}
		o.log.Info("A binding of a cloud has no allocation", "cloud", name, "id", orphan.ID, "owner", orphan.Owner.String(),
			"addresses", orphan.Addresses, "removed", orphan.Removed)
	}
	if err != nil {
		o.failures.Inc()
		o.log.Error(err, "The search for bindings without an allocation failed", "cloud", name)
	}
	if err == nil || len(all) > 0 {
		o.found.WithLabelValues(name).Set(float64(left))
	}
	o.removed.WithLabelValues(name).Add(float64(len(all) - left))
}
