// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/leader"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// program is what runs.
type program struct {
	*Options
	log      logr.Logger
	registry *prometheus.Registry
	reloader *reload.Reloader
	source   certificate.Source
	// registrars keep the registration in each dialect, none where nothing is registered; replicas and election are nil where there are no others.
	registrars []*registration.Registrar
	replicas   *registration.Replicas
	election   *leader.Election
	server     *server.Server
	// term says whether this replica writes the registration.
	term leader.Term
	// known says that callers know the certificate, and settled that they ask for nothing that this replica does not answer.
	known, settled atomic.Bool
	life           *shell.Life
}

// Run answers until the context ends, and then finishes what is in flight.
func Run(ctx context.Context, version string, o *Options, log io.Writer) error {
	logger, err := shell.Start(Name, version, o.Config.Logging, o.Config.Debugging, log)
	if err != nil {
		return err
	}
	p := &program{Options: o, log: logger, registry: prometheus.NewRegistry(), life: &shell.Life{
		Log: logger, Delay: o.Config.Shutdown.Delay.Duration, Timeout: o.Config.Shutdown.Timeout.Duration,
		Unfinished: "Ending before all work in the background has",
	}}
	shell.AddProcessMetrics(p.registry)
	if err := p.prepare(ctx); err != nil {
		return err
	}
	stop, err := p.monitor(ctx)
	if err != nil {
		return errors.Join(err, p.server.Close())
	}
	defer stop()
	return p.life.Serve(ctx, p.server.Serve, func(working context.Context, _ func(error)) []func() { return p.work(ctx, working) })
}

// prepare makes all parts, and opens the address.
func (p *program) prepare(ctx context.Context) error {
	options, err := p.Reloading()
	if err != nil {
		return err
	}
	var metrics *server.Metrics
	options.Retires = p.Config.Registration != nil
	options.Metrics, options.Log = reload.NewMetrics(p.registry), p.log.WithName("profiles")
	options.Changed = func(*reload.InForce) {
		if metrics != nil { // it is made when there is something in force first
			metrics.Forget()
		}
	}
	if p.reloader, err = reload.Open(options); err != nil {
		return err
	}
	metrics = server.NewMetrics(p.registry, p.reloader.Knows)
	if err := p.prepareCertificate(ctx); err != nil {
		return err
	}
	if p.Config.Registration != nil {
		if p.term.Alone = !*p.Config.LeaderElection.Enabled; !p.term.Alone {
			if p.election, err = p.NewElection(&p.term, p.log); err != nil {
				return err
			}
		}
		if err := p.prepareRegistration(ctx); err != nil {
			return err
		}
	}
	l := p.Config.Limits
	p.server, err = server.New(ctx, server.Options{
		Address: p.Config.Server.Address, Interpreter: p.reloader, Prompt: true, Certificate: certificate.Serve(p.source), Metrics: metrics,
		Log: p.log.WithName("server"), Draining: p.life.Draining,
		Limits: serving.Limits{
			Connections: int(l.Connections), Streams: int(l.Streams),
			Requests: int(l.Requests), Waiting: 4 * int(l.Requests), Behind: int(l.Requests),
			BodyBytes: int64(l.BodyBytes), BodiesBytes: int64(l.BodiesBytes), BodyTimeout: serving.BodyTimeout,
			Patience: 30 * time.Second, // a caller says how long it waits, which is never longer
		},
	})
	return err
}

// prepareCertificate makes the source, and holds that there is something in it unless that is another machine's business: a cluster may answer later.
func (p *program) prepareCertificate(ctx context.Context) error {
	var err error
	if p.source, err = p.Source(p.log.WithName("certificate")); err != nil {
		return err
	}
	if p.Config.Certificate.Secret != nil {
		return nil
	}
	return p.source.Refresh(ctx)
}

// work returns what runs beside the server. The leader stops writing as soon as ctx ends, and gives the Lease back, so that another
// replica writes; the rest goes on until the server has ended.
func (p *program) work(ctx, working context.Context) []func() {
	every := time.Second // files of this machine cost nothing
	if p.Config.Certificate.Secret != nil {
		every = 10 * time.Second
	}
	metrics := certificate.NewMetrics(p.registry, p.source)
	work := []func(){
		func() { p.reloader.Run(working) },
		func() { certificate.Keep(working, p.source, every, metrics, p.log.WithName("certificate")) },
	}
	if len(p.registrars) > 0 {
		work = append(work, func() { p.register(working) })
	}
	if p.replicas != nil {
		work = append(work, func() { p.announce(working) })
	}
	if p.election != nil {
		work = append(work, func() { p.election.Run(ctx) })
	}
	return work
}

// monitor opens the address for those who watch the program.
func (p *program) monitor(ctx context.Context) (stop func(), err error) {
	m := &serving.Monitor{
		Program: Name, Address: p.Config.Metrics.Address, Metrics: p.registry, Profiling: p.Config.Debugging.Profiling,
		Ready: map[string]func(context.Context) error{"shutdown": serving.Stays(p.life.Draining), "certificate": p.certified, "registration": p.isKnown},
	}
	return m.Open(ctx, p.log)
}

func (p *program) certified(context.Context) error {
	switch held := p.source.Held(); {
	case held == nil:
		return errors.New("there is none yet")
	case time.Now().After(held.Ends):
		return errors.New("it has ended")
	}
	return nil
}

// isKnown returns an error until callers were told of the certificate, and ask for nothing that this replica does not answer.
func (p *program) isKnown(context.Context) error {
	switch {
	case len(p.registrars) > 0 && !p.known.Load():
		return errors.New("callers are not told of the certificate yet")
	case len(p.registrars) > 0 && !p.settled.Load():
		return errors.New("callers ask for what the profiles of this replica do not answer")
	}
	return nil
}
