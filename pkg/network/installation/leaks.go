// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/leak"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/leak/kube"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/remote"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Leaks looks for addresses whose holders do not exist any more. Without a cluster census and events are nil: then addresses are found that are held
// for long, and nothing is freed.
type Leaks struct {
	census  *kube.Census
	events  *kube.Events
	found   *leak.Reconciler
	log     logr.Logger
	metrics leakMetrics
}

// NewLeaks makes the search.
func (p *Parts) NewLeaks() (*Leaks, error) {
	l, c := &Leaks{log: p.Log.WithName("leaks"), metrics: newLeakMetrics(p.Registry)}, p.Config.Leaks
	options := leak.Options{
		Ledger: p.Reloader.Ledger(), Release: p.Reloader.Service().ReleaseSince, Clock: clock.RealClock{},
		// Docker's are swept by the server that has made them, which knows by links and leases who needs them.
		Elsewhere: func(a network.Allocation) bool { return a.Owner.Contract == docker.Contract },
		Free:      c.Mode == "free", Period: c.Period.Duration, Grace: c.Grace.Duration, Oldest: c.Oldest.Duration,
		Report: l.report, Done: l.metrics.done,
		Failed: func(err error) { l.metrics.failures.Inc(); l.log.Error(err, "Looking for leaks failed") },
	}
	if p.Config.Kubernetes != nil {
		if err := l.connect(p.Config); err != nil {
			return nil, err
		}
		options.Census = l.census
	}
	l.found = leak.New(options)
	return l, nil
}

// connect makes what needs the cluster.
func (l *Leaks) connect(c *configv1alpha1.NetworkProviderConfiguration) error {
	config, err := kubernetes(c.Kubernetes)
	if err != nil {
		return err
	}
	if l.census, err = kube.New(kube.Options{Config: config, Node: c.Node, Clock: clock.RealClock{}, Log: l.log}); err != nil {
		return err
	}
	l.events, err = kube.NewEvents(config, l.log)
	return err
}

func kubernetes(k *configv1alpha1.NetworkKubernetes) (*rest.Config, error) {
	return shell.Cluster(k.Kubeconfig, "write kubernetes.kubeconfig")
}

// Run looks until the context ends.
func (l *Leaks) Run(ctx context.Context) {
	var all sync.WaitGroup
	if l.census != nil {
		all.Go(func() { l.census.Run(ctx) })
	}
	all.Go(func() { l.found.Run(ctx) })
	all.Wait()
	if l.events != nil {
		l.events.Stop()
	}
}

// report logs what is new, and writes an event.
func (l *Leaks) report(s leak.Suspect) {
	a := s.Allocation
	log := l.log.WithValues("owner", a.Owner.String(), "holder", a.Holder.String(), "pool", a.Pool, "addresses", a.Addresses)
	switch {
	case s.Reason == leak.Gone && s.First:
		log.Info("The holder of an allocation does not exist any more", "freed", s.Freed)
	case s.Reason == leak.Old && s.First:
		log.Info("An allocation is held for long, and nobody knows whether its holder exists", "since", a.Since)
	}
	if l.events != nil {
		l.events.Report(s)
	}
}

// Sweep is what graft ledger gc asks for. Where it is not known who lives, it can list only.
func (l *Leaks) Sweep(ctx context.Context, dryRun bool, each func(remote.Suspect) error) error {
	if l.census == nil && !dryRun {
		return remote.ErrNoCluster
	}
	return l.found.Sweep(ctx, dryRun, func(s leak.Suspect) error {
		if s.Freed {
			l.metrics.freed.Inc()
		}
		return each(remote.Suspect{Allocation: s.Allocation, Reason: string(s.Reason), Freed: s.Freed})
	})
}

// leakMetrics are those of the search.
type leakMetrics struct {
	suspects        *prometheus.GaugeVec
	unjudged        prometheus.Gauge
	freed, failures prometheus.Counter
	last            prometheus.Gauge
}

func newLeakMetrics(registry prometheus.Registerer) leakMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := leakMetrics{
		suspects: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "graft_network_leaks", Help: "Allocations that seem to have leaked, as of the last look, by reason: gone, missing (once so far) or old.",
		}, []string{"reason"}),
		unjudged: gauge("graft_network_leaks_unjudged", "Allocations of which it is not known whether their holders exist, as of the last look."),
		freed:    counter("graft_network_leaks_freed_total", "Allocations that were freed since their holders did not exist any more."),
		failures: counter("graft_network_leaks_failures_total", "Looks for leaks that failed, as a whole or in part."),
		last:     gauge("graft_network_leaks_last_look_seconds", "When it was looked for leaks last, in seconds since 1970."),
	}
	registry.MustRegister(m.suspects, m.unjudged, m.freed, m.failures, m.last)
	return m
}

// done notes what a look has found.
func (m leakMetrics) done(s leak.Summary) {
	for _, reason := range []leak.Reason{leak.Gone, leak.Missing, leak.Old} {
		m.suspects.WithLabelValues(string(reason)).Set(float64(s.Suspects[reason]))
	}
	m.unjudged.Set(float64(s.Unjudged))
	m.freed.Add(float64(s.Freed))
	m.last.Set(float64(clock.RealClock{}.Now().Unix()))
}
