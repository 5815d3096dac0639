// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap/zapcore"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/gardener/gardener/pkg/logger"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/catalog"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// program is what runs.
type program struct {
	*Options
	log      logr.Logger
	registry *prometheus.Registry
	metrics  *server.Metrics
	store    ledger.Store
	reloader *reload.Reloader
	server   *server.Server
	leaks    *leaks
	// dockers are nil where no listener names Docker's contract.
	dockers *dockers
	// opened says that the ledger is open, draining that the program ends, and recovered that what an earlier one has left is brought to its end.
	opened, draining, recovered atomic.Bool
}

// Run serves until the context ends, and then finishes what is in flight.
func Run(ctx context.Context, version string, o *Options, log io.Writer) (err error) {
	// Errors are results here: where one comes from is in its text, and a panic logs its own stack.
	logger, err := logger.NewZapLogger(o.Config.Logging.Level, o.Config.Logging.Format, zap.StacktraceLevel(zapcore.PanicLevel), zap.WriteTo(log))
	if err != nil {
		return err
	}
	p := &program{Options: o, log: logger, registry: prometheus.NewRegistry()}
	p.metrics = server.NewMetrics(p.registry)
	p.log.Info("Starting", "program", Name, "version", version, "go", runtime.Version(), "node", o.Config.Node)
	if o.Config.Debugging.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	// First of all: a ledger with very much in it takes a while to be opened, and whoever probes must not take the program for dead.
	stop, err := p.monitor(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if p.store, err = openStore(ctx, o.Config.Ledger, p.log.WithName("ledger"), os.Exit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	p.reloader, err = reload.Open(ctx, p.store, p.reloading())
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil // it was ended before it had begun
	case err != nil:
		return err
	}
	p.opened.Store(true)
	return p.run(ctx)
}

// reloading are the options of what is in force.
func (p *program) reloading() reload.Options {
	o, log := p.Options.reloading(), p.log.WithName("background")
	o.Metrics, o.Log = reload.NewMetrics(p.registry), p.log.WithName("profiles")
	o.Guard = func(ctx context.Context, next *policy.Policy, put func() error) error {
		return p.dockers.guard(ctx, next, put)
	}
	o.Service.Barred = func(ctx context.Context, pool string) error { return p.dockers.barred(ctx, pool) }
	o.Service.Report = func(owner network.Owner, err error) {
		p.metrics.FailedInBackground()
		log.Error(err, "Work in the background failed", "owner", owner.String())
	}
	return o
}

// reloading are those that do not depend on a program that runs.
func (o *Options) reloading() reload.Options {
	machine := catalog.Options{CNIConfigurations: o.Config.CNI.Configurations, CNIPlugins: o.Config.CNI.Plugins}
	return reload.Options{
		Read: func() ([]source.File, error) { return folder.Read(o.Config.Profiles.Paths...) },
		LeftAlone: func() []string {
			left, _ := folder.LeftAlone(o.Config.Profiles.Paths...) // what cannot be read is told by Read
			return left
		},
		Node: o.Config.Node, EachNode: o.EachNode, Shared: o.Config.Ledger.Etcd != nil,
		Clouds: func(specs map[string]policy.CloudSpec) (map[string]cloud.Cloud, source.Findings) {
			return catalog.New(specs, machine)
		},
		Service: service.Options{Clock: clock.RealClock{}, Random: rand.Float64}, Log: logr.Discard(),
	}
}

// Check says whether all would go well as far as the configuration, the files that it names, and the profiles are concerned, and beside that what is
// doubtful.
func (o *Options) Check(ctx context.Context, out, doubts io.Writer) error {
	if err := o.checkMachine(ctx); err != nil {
		return err
	}
	p, warnings, err := reload.Check(o.reloading())
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		fmt.Fprintln(doubts, "warning:", warning.Error())
	}
	if err := o.checkLinks(ctx, p); err != nil {
		return err
	}
	pools := slices.Sorted(maps.Keys(p.Pools))
	_, err = fmt.Fprintf(out, "ok: pools %s; profiles %s\n", words(pools), words(p.ProfileNames()))
	return err
}

func words(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// run opens the addresses, and lets everything work.
func (p *program) run(ctx context.Context) (err error) {
	p.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		server.Collector{Pools: p.reloader.Usage, Clouds: p.reloader.Clouds, Pending: p.reloader.Service().Pending, Exhaustions: p.reloader.Service().Exhaustions},
	)
	if p.leaks, err = p.newLeaks(); err != nil {
		return err
	}
	if p.dockers, err = p.newDockers(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.dockers.close()) }()
	listeners, err := p.allListeners()
	if err != nil {
		return err
	}
	p.server, err = server.New(ctx, server.Options{
		Listeners: listeners, Limits: limits(p.Config.Limits),
		Metrics: p.metrics, Log: p.log.WithName("server"), Draining: p.draining.Load,
	})
	if err != nil {
		return err
	}
	// Not before all addresses are this server's: one that is started beside another by mistake must not touch its links.
	if err := p.dockers.recover(ctx); err != nil {
		return errors.Join(err, p.server.Close())
	}
	serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	ended := p.work(working, end)
	go p.drain(ctx, end)
	p.notify(daemon.SdNotifyReady)
	err = p.server.Serve(serving, p.Config.Shutdown.Timeout.Duration)
	rest()
	select {
	case <-ended:
	case <-time.After(p.Config.Shutdown.Timeout.Duration):
		p.log.Info("Ending before all work in the background has: it is in the ledger, and goes on at the next start")
	}
	p.log.Info("Stopped")
	return err
}

// limits returns the limits of the configuration. A request that finds no free place is refused at once, because callers retry. Requests whose
// callers have left hold at most half of the places, so that a hanging cloud does not take all of them.
func limits(l configv1alpha1.NetworkLimits) serving.Limits {
	return serving.Limits{
		Connections: int(l.Connections), Streams: int(l.Streams), Requests: int(l.Requests), Behind: int(l.Requests) / 2,
		BodyBytes: int64(l.BodyBytes), BodiesBytes: int64(l.BodiesBytes), BodyTimeout: serving.BodyTimeout,
	}
}

// drain ends serving a while after the context has ended: until then /readyz fails, and requests are still answered, so that whoever balances
// among servers meets no closed port. A socket has no such caller.
func (p *program) drain(ctx context.Context, end context.CancelCauseFunc) {
	<-ctx.Done()
	p.draining.Store(true)
	p.notify(daemon.SdNotifyStopping)
	delay := p.Config.Shutdown.Delay.Duration
	if !slices.ContainsFunc(p.Config.Listeners, isTCP) {
		delay = 0
	}
	p.log.Info("Shutting down", "delay", delay)
	time.Sleep(delay)
	end(nil)
}

// notify tells systemd how the program is, where that has started it and waits to be told (sd_notify(3)).
func (p *program) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		p.log.Error(err, "Telling systemd how the program is failed", "state", state)
	}
}

// work begins what goes on beside requests, and gives a channel that is closed when all of it has ended. What cannot go on ends the program.
func (p *program) work(ctx context.Context, end context.CancelCauseFunc) <-chan struct{} {
	var all sync.WaitGroup
	all.Go(func() { p.reloader.Service().Run(ctx) })
	all.Go(func() { p.reloader.Run(ctx) })
	all.Go(func() { p.leaks.run(ctx) })
	all.Go(func() { p.dockers.run(ctx) })
	all.Go(func() {
		if err := p.reloader.Ledger().Follow(ctx); err != nil && ctx.Err() == nil {
			end(fmt.Errorf("following the ledger: %w", err))
		}
	})
	all.Go(func() {
		if err := p.reloader.Service().Recover(ctx); err == nil {
			p.recovered.Store(true)
		} else if ctx.Err() == nil {
			end(err)
		}
	})
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	return ended
}
