// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/tools/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/gardener/gardener/pkg/logger"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// program is what runs.
type program struct {
	*Options
	log      logr.Logger
	registry *prometheus.Registry
	reloader *reload.Reloader
	source   certificate.Source
	// registrar and election are nil where nothing is registered, or nobody else does.
	registrar *registration.Registrar
	election  *leaderelection.LeaderElector
	server    *server.Server
	// leads says whether this replica writes the registration, and led what was logged of that.
	leads leadership
	led   atomic.Bool
	// known says that callers know its certificate, and draining that the program ends.
	known, draining atomic.Bool
}

// Run answers until the context ends, and then finishes what is in flight.
func Run(ctx context.Context, version string, o *Options, log io.Writer) error {
	// Errors are results here: where one comes from is in its text, and a panic logs its own stack.
	logger, err := logger.NewZapLogger(o.Config.Logging.Level, o.Config.Logging.Format, zap.StacktraceLevel(zapcore.PanicLevel), zap.WriteTo(log))
	if err != nil {
		return err
	}
	p := &program{Options: o, log: logger, registry: prometheus.NewRegistry()}
	p.log.Info("Starting", "program", Name, "version", version, "go", runtime.Version())
	if o.Config.Debugging.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := p.prepare(ctx); err != nil {
		return err
	}
	stop, err := p.monitor(ctx)
	if err != nil {
		return errors.Join(err, p.server.Close())
	}
	defer stop()
	return p.run(ctx)
}

// prepare makes all parts, and opens the address.
func (p *program) prepare(ctx context.Context) error {
	options, err := p.reloading()
	if err != nil {
		return err
	}
	var metrics *server.Metrics
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
		if p.registrar, err = p.newRegistrar(); err != nil {
			return err
		}
		if p.leads.alone = !*p.Config.LeaderElection.Enabled; !p.leads.alone {
			if p.election, err = p.newElection(); err != nil {
				return err
			}
		}
	}
	l := p.Config.Limits
	p.server, err = server.New(ctx, server.Options{
		Address: p.Config.Server.Address, Interpreter: p.reloader, Prompt: true, Certificate: certificate.Serve(p.source), Metrics: metrics,
		Log: p.log.WithName("server"), Draining: p.draining.Load,
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
	if p.source, err = p.Options.source(p.log.WithName("certificate")); err != nil {
		return err
	}
	if p.Config.Certificate.Secret != nil {
		return nil
	}
	return p.source.Refresh(ctx)
}

// reloading are the options of what is in force.
func (o *Options) reloading() (reload.Options, error) {
	r := reload.Options{
		Read:  func() ([]source.File, error) { return folder.Read(o.Config.Profiles.Paths...) },
		Empty: func(files []string) []string { return folder.Empty(o.Config.Profiles.Paths, files) },
		LeftAlone: func() []string {
			left, _ := folder.LeftAlone(o.Config.Profiles.Paths...) // what cannot be read is told by Read
			return left
		},
		Log: logr.Discard(),
	}
	if !*o.Config.Profiles.Gardener {
		return r, nil
	}
	var err error
	if r.Behind, err = gardener.Profiles(o.Config.Profiles.Optional...); err != nil {
		return r, fmt.Errorf("reading the profiles of Gardener: %w", err)
	}
	return r, nil
}

// run lets everything work.
func (p *program) run(ctx context.Context) error {
	answering, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	ended := p.work(ctx, working)
	go p.drain(ctx, end)
	err := p.server.Serve(answering, p.Config.Shutdown.Timeout.Duration)
	rest()
	select {
	case <-ended:
	case <-time.After(p.Config.Shutdown.Timeout.Duration):
		p.log.Info("Ending before all work in the background has")
	}
	p.log.Info("Stopped")
	return err
}

// work begins what goes on beside questions, and gives a channel that is closed when all of it has ended. Who leads stops
// writing as soon as ctx ends, and gives the Lease back, so that another replica writes; the rest goes on until the end.
func (p *program) work(ctx, working context.Context) <-chan struct{} {
	var all sync.WaitGroup
	all.Go(func() { p.reloader.Run(working) })
	every := time.Second // files of this machine cost nothing
	if p.Config.Certificate.Secret != nil {
		every = 10 * time.Second
	}
	metrics := certificate.NewMetrics(p.registry, p.source)
	all.Go(func() { certificate.Keep(working, p.source, every, metrics, p.log.WithName("certificate")) })
	if p.registrar != nil {
		all.Go(func() { p.register(working) })
	}
	if p.election != nil {
		all.Go(func() { p.elect(ctx) })
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	return ended
}

// drain ends answering a while after the context has ended: until then /readyz fails, and questions are still answered, so that whoever balances among
// replicas meets no closed port.
func (p *program) drain(ctx context.Context, end func()) {
	<-ctx.Done()
	p.draining.Store(true)
	p.log.Info("Shutting down", "delay", p.Config.Shutdown.Delay.Duration)
	time.Sleep(p.Config.Shutdown.Delay.Duration)
	end()
}

// monitor opens the address for those who watch the program.
func (p *program) monitor(ctx context.Context) (stop func(), err error) {
	m := &serving.Monitor{
		Program: Name, Address: p.Config.Metrics.Address, Metrics: p.registry, Profiling: p.Config.Debugging.Profiling,
		Ready: map[string]func(context.Context) error{"shutdown": serving.Stays(p.draining.Load), "certificate": p.certified, "registration": p.isKnown},
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

// isKnown says whether callers have been told of the certificate once: whoever asks before would not trust it.
func (p *program) isKnown(context.Context) error {
	if p.registrar != nil && !p.known.Load() {
		return errors.New("callers are not told of the certificate yet")
	}
	return nil
}
