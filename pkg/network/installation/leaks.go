// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc/kube"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Leaks searches for addresses of holders that no longer exist, and for bindings of clouds without an allocation.
// Without a cluster, census is nil: then it only reports addresses that are held for a long time, and frees nothing.
type Leaks struct {
	parts   *Parts
	census  *kube.Census
	found   *gc.Reconciler
	held    cloud.Allocations
	log     logr.Logger
	metrics leakMetrics
}

// NewLeaks prepares the search. It fails if there is no client of the cluster.
func (p *Parts) NewLeaks() (*Leaks, error) {
	l, c := &Leaks{parts: p, log: p.Log.WithName("leaks"), metrics: newLeakMetrics(p.Registry)}, p.Config.Leaks
	options := gc.Options{
		Ledger: p.Reloader.Ledger(), Release: p.Reloader.Service().ReleaseSince, Clock: clock.RealClock{},
		// Docker's addresses are cleaned up by the server that allocated them, which knows the links and leases
		// that use them.
		Elsewhere: func(a network.Allocation) bool { return a.Owner.Contract == docker.Contract },
		Free:      c.Mode == "free", Period: c.Period.Duration, Grace: c.Grace.Duration, Oldest: c.Oldest.Duration,
		Report: l.report, Done: l.metrics.done,
		Failed: func(err error) {
			l.metrics.failures.Inc()
			l.log.Error(err, "The search for leaks failed; it is repeated", "after", c.Period.Duration)
		},
	}
	if p.Config.Kubernetes != nil {
		config, err := kubernetes(p.Config.Kubernetes)
		if err != nil {
			return nil, err
		}
		if l.census, err = kube.New(kube.Options{Config: config, Node: p.Config.Node, Clock: clock.RealClock{}}); err != nil {
			return nil, err
		}
		options.Census = l.census
	} else if slices.ContainsFunc(p.Config.Listeners, losesReleases) {
		l.log.Info("Without kubernetes in the configuration, allocations with a lost release are not found and stay held. " +
			"graft ledger release frees them by hand")
	}
	l.found, l.held = gc.New(options), p.Reloader.Ledger().All
	return l, nil
}

// losesReleases reports whether a listener serves a contract whose callers do not repeat a lost release. Leaks of
// Docker are found without a cluster.
func losesReleases(l configv1alpha1.NetworkListener) bool {
	return l.Answers("dranet") || l.Answers("spiderpool")
}

// kubernetes returns the client configuration for the cluster with the holders. It fails if there is none.
func kubernetes(k *configv1alpha1.NetworkKubernetes) (*rest.Config, error) {
	return shell.Cluster(k.Kubeconfig, "set kubernetes.kubeconfig")
}

// Run searches periodically until the context ends.
func (l *Leaks) Run(ctx context.Context) {
	var all sync.WaitGroup
	if l.parts.hasAllAllocations() {
		all.Go(func() { wait.UntilWithContext(ctx, l.searchClouds, l.parts.Config.Leaks.Period.Duration) })
	}
	all.Go(func() { l.found.Run(ctx) })
	all.Wait()
}

// report logs new findings.
func (l *Leaks) report(s gc.Suspect) {
	a := s.Allocation
	log := l.log.WithValues("owner", a.Owner.String(), "holder", a.Holder.String(), "pool", a.Pool, "addresses", a.Addresses)
	switch {
	case s.Reason == gc.Gone && s.First:
		log.Info("An allocation leaked: its holder no longer exists", "freed", s.Freed)
	case s.Reason == gc.Old && s.First:
		log.Info("An allocation is old and its holder is unknown; if it is unused, free it with graft ledger release", "since", a.Since)
	}
}

// Sweep runs the search of `graft ledger gc`. Without a cluster it only lists; it fails unless dryRun is set.
func (l *Leaks) Sweep(ctx context.Context, dryRun bool, each func(gc.Suspect) error) error {
	if l.census == nil && !dryRun {
		return remote.ErrNoCluster
	}
	return l.found.Sweep(ctx, dryRun, func(s gc.Suspect) error {
		if s.Freed {
			l.metrics.freed.Inc()
		}
		return each(s)
	})
}

// leakMetrics are the metrics of the search.
type leakMetrics struct {
	suspects        *prometheus.GaugeVec
	unchecked       prometheus.Gauge
	freed, failures prometheus.Counter
	last            prometheus.Gauge
	// orphans and orphansRemoved count the bindings of each cloud.
	orphans        *prometheus.GaugeVec
	orphansRemoved *prometheus.CounterVec
}

func newLeakMetrics(registry prometheus.Registerer) leakMetrics {
	auto := promauto.With(registry)
	return leakMetrics{
		suspects: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_leaks", Help: "Possible leaks at the last search, by reason: gone (owner deleted), missing (not found once) or old.",
		}, []string{"reason"}),
		unchecked: serving.NewGauge(registry, "graft_network_leaks_unchecked", "Allocations in the last search whose holders could not be checked."),
		freed:     serving.NewCounter(registry, "graft_network_leaks_freed_total", "Allocations freed because their holders no longer existed."),
		failures:  serving.NewCounter(registry, "graft_network_leaks_failures_total", "Searches for leaks that failed completely or in part."),
		last: serving.NewGauge(registry, "graft_network_leaks_last_search_timestamp_seconds",
			"Time of the last search for leaks, in seconds since 1970."),
		orphans: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_cloud_orphans", Help: "Bindings of a cloud without an allocation at the last search, by cloud.",
		}, []string{"cloud"}),
		orphansRemoved: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "graft_network_cloud_orphans_removed_total", Help: "Bindings of a cloud deleted because they had no allocation, by cloud.",
		}, []string{"cloud"}),
	}
}

// done records the result of a search.
func (m leakMetrics) done(s gc.Summary) {
	for _, reason := range []gc.Reason{gc.Gone, gc.Missing, gc.Old} {
		m.suspects.WithLabelValues(string(reason)).Set(float64(s.Suspects[reason]))
	}
	m.unchecked.Set(float64(s.Unchecked))
	m.freed.Add(float64(s.Freed))
	m.last.SetToCurrentTime()
}

// hasAllAllocations reports whether the ledger has the allocations of all bindings. That of one of several nodes has only its own, and the
// bindings of other nodes have the same names.
func (p *Parts) hasAllAllocations() bool {
	return p.Config.Ledger.Etcd != nil || !p.EachNode && p.Config.Node == ""
}

// searchClouds searches the clouds for bindings without an allocation, such as after the loss of a ledger.
func (l *Leaks) searchClouds(ctx context.Context) {
	for name, of := range l.parts.Reloader.Service().Clouds() {
		if lister, ok := of.(cloud.Lister); ok && ctx.Err() == nil {
			l.searchCloud(ctx, name, lister)
		}
	}
}

// searchCloud looks at one cloud.
func (l *Leaks) searchCloud(ctx context.Context, name string, lister cloud.Lister) {
	c := l.parts.Config.Leaks
	ctx, cancel := context.WithTimeout(ctx, c.Period.Duration)
	defer cancel()
	all, err := lister.Orphans(ctx, l.held, c.Mode == "free")
	left := 0
	for _, orphan := range all {
		if !orphan.Removed {
			left++
		}
		l.log.Info("A cloud has a binding without an allocation", "cloud", name, "id", orphan.ID, "owner", orphan.Owner.String(),
			"addresses", orphan.Addresses, "removed", orphan.Removed)
	}
	if err != nil {
		l.metrics.failures.Inc()
		l.log.Error(err, "The search for bindings without an allocation failed; it is repeated", "cloud", name, "after", c.Period.Duration)
	}
	if err == nil || len(all) > 0 {
		l.metrics.orphans.WithLabelValues(name).Set(float64(left))
	}
	l.metrics.orphansRemoved.WithLabelValues(name).Add(float64(len(all) - left))
}
