// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/installation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// process is the running program.
type process struct {
	*installation.Parts
	server *server.Server
	leaks  *installation.Leaks
	// docker is nil if no listener serves Docker's API.
	docker *installation.Docker
	// opened is true after the ledger was opened, recovered after the operations of an earlier process were
	// completed.
	opened, recovered atomic.Bool
	life              *shell.Life
}

// Run serves until the context ends, and then completes requests in flight. It fails if it cannot start, or a server or
// the ledger fails.
func Run(ctx context.Context, version string, o *Options, log io.Writer) (err error) {
	logger, err := shell.Start(Name, version, o.Config.Logging, o.Config.Debugging, log, "node", o.Config.Node)
	if err != nil {
		return err
	}
	p := &process{Parts: &installation.Parts{Installation: &o.Installation, Log: logger, Registry: prometheus.NewRegistry()}}
	p.Metrics = server.NewMetrics(p.Registry)
	p.OpenStack = openstack.NewMetrics(p.Registry)
	p.life = &shell.Life{
		Log: logger, Delay: o.Delay(), Timeout: o.Config.Shutdown.Timeout.Duration, OnDrain: func() { p.notify(daemon.SdNotifyStopping) },
		Unfinished: "Stopping before all background work has ended; it continues from the ledger at the next start",
	}
	// Open the monitoring port first: opening a large ledger takes a while, and probes must not restart the
	// program in the meantime.
	stop, err := p.monitor(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if p.Store, err = installation.OpenStore(ctx, o.Config.Ledger, p.Log.WithName("ledger"), os.Exit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Store.Close()) }()
	p.Reloader, err = reload.Open(ctx, p.Store, p.reloading())
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil // it was stopped before it started
	case err != nil:
		return err
	}
	p.opened.Store(true)
	return p.run(ctx)
}

// reloading returns the options for the active profiles.
func (p *process) reloading() reload.Options {
	o, log := p.Reloading(), p.Log.WithName("background")
	o.Metrics, o.Log = reload.NewMetrics(p.Registry), p.Log.WithName("profiles")
	o.Service.Disabled = func(ctx context.Context, pool string) error {
		if p.docker == nil {
			return nil
		}
		return p.docker.CheckPool(ctx, pool)
	}
	o.Service.Report = func(owner network.Owner, err error) {
		p.Metrics.FailedInBackground()
		log.Error(err, "Background work for allocations failed", "owner", owner.String())
	}
	return o
}

// run opens the addresses and starts all work.
func (p *process) run(ctx context.Context) (err error) {
	shell.AddProcessMetrics(p.Registry)
	p.Registry.MustRegister(
		server.Collector{Pools: p.Reloader.Usage, Clouds: p.Reloader.Clouds, Pending: p.Reloader.Service().Pending, Exhaustions: p.Reloader.Service().Exhaustions},
	)
	if p.leaks, err = p.NewLeaks(); err != nil {
		return err
	}
	if p.docker, err = p.NewDocker(ctx); err != nil {
		return err
	}
	if p.docker != nil {
		defer func() { err = errors.Join(err, p.docker.Close()) }()
	}
	listeners, err := p.allListeners()
	if err != nil {
		return err
	}
	p.server, err = server.New(ctx, server.Options{
		Listeners: listeners, Limits: p.Limits(),
		Metrics: p.Metrics, Log: p.Log.WithName("server"), Draining: p.life.Draining,
	})
	if err != nil {
		return err
	}
	// Recover only after all addresses are open, so that a second server started by mistake does not touch the
	// links of the first.
	if p.docker != nil {
		if err := p.docker.Recover(ctx); err != nil {
			return errors.Join(fmt.Errorf("recovering Docker's networks: %w", err), p.server.Close())
		}
	}
	return p.life.Serve(ctx, p.server.Serve, p.work)
}

// notify reports the program's state to systemd if it asks for it (sd_notify(3)).
func (p *process) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		p.Log.Error(err, "Notifying systemd failed: systemd can consider the service as not started", "state", state)
	}
}

// work returns the background work. An error that prevents further work ends the program.
func (p *process) work(ctx context.Context, end func(error)) []func() {
	p.notify(daemon.SdNotifyReady)
	all := []func(){
		func() { p.Reloader.Service().Run(ctx) },
		func() { p.Reloader.Run(ctx) },
		func() { p.leaks.Run(ctx) },
		func() {
			if err := p.Reloader.Ledger().Follow(ctx); err != nil && ctx.Err() == nil {
				end(fmt.Errorf("following the ledger: %w", err))
			}
		},
		func() {
			if err := p.Reloader.Service().Recover(ctx); err == nil {
				p.recovered.Store(true)
			} else if ctx.Err() == nil {
				end(err)
			}
		},
	}
	if p.docker != nil {
		all = append(all, func() { p.docker.Run(ctx) })
	}
	return all
}

// monitor opens the monitoring port.
func (p *process) monitor(ctx context.Context) (stop func(), err error) {
	m := &serving.Monitor{
		Program: Name, Address: p.Config.Metrics.Address, Metrics: p.Registry, Profiling: p.Config.Debugging.Profiling,
		Ready: map[string]func(context.Context) error{"shutdown": serving.Ready(p.life.Draining), "ledger": p.remembers, "recovery": p.hasRecovered},
	}
	return m.Open(ctx, p.Log)
}

// noOwner is an owner without allocations.
var noOwner = network.Owner{Contract: "readyz", Key: "none"}

// remembers reports whether the ledger answers.
func (p *process) remembers(ctx context.Context) error {
	if !p.opened.Load() {
		return errors.New("the ledger is being opened")
	}
	if _, err := p.Reloader.Ledger().Get(ctx, noOwner); !errors.Is(err, network.ErrNotHeld) {
		return err
	}
	return nil
}

func (p *process) hasRecovered(context.Context) error {
	if !p.recovered.Load() {
		return errors.New("operations from before the start are being completed")
	}
	return nil
}
