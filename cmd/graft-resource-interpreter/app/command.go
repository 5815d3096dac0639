// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft-resource-interpreter: flags and configuration become Options, and Options become
// active profiles, a certificate, a server and a registration. Only this package knows clusters and files. The
// packages below make the decisions. Start reading at Main.
package app

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/leader"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Name is the name of the program.
const Name = "graft-resource-interpreter"

// Main runs the program and returns its exit status.
var Main = shell.Main(NewCommand)

// NewCommand returns the program as a cobra command.
func NewCommand(version string) *cobra.Command {
	flags := &Flags{}
	command := shell.New(&cobra.Command{
		Use:   Name,
		Short: "Answer Karmada from InterpreterProfiles",
		Long: `Answer Karmada from InterpreterProfiles.

It is a resource interpreter webhook. For each kind, it tells Karmada the replicas, the dependencies, the fields
that a member cluster decides, the reflected status, and the health. It knows Gardener's kinds without a
profile. It issues its own certificate, unless it is given files, and keeps its registration in Karmada current.`,
		Example: `  graft-resource-interpreter --profiles acme.yaml --certificate-folder /tmp/graft
  graft-resource-interpreter --config /etc/graft/resource-interpreter.yaml
  graft-resource-interpreter --certificate-secret graft-system/interpreter --register graft --url https://interpreter.example.com/interpret
  graft-resource-interpreter --config /etc/graft/resource-interpreter.yaml --check`,
	}, version, func(c *cobra.Command) error {
		options, err := flags.Complete(c.Flags())
		switch {
		case err != nil:
			return err
		case options.CheckOnly:
			return options.Check(c.OutOrStdout())
		case options.Unregister:
			return options.Installation.Unregister(c.Context(), c.OutOrStdout())
		default:
			return Run(c.Context(), version, options, c.ErrOrStderr())
		}
	})
	flags.AddTo(command.Flags())
	return command
}

// process is the running program.
type process struct {
	*Options
	log      logr.Logger
	registry *prometheus.Registry
	reloader *reload.Reloader
	source   certificate.Source
	// registrars maintain the registration in each dialect; empty without registration. replicas and election
	// are nil for a single replica.
	registrars []*registration.Registrar
	replicas   *registration.Replicas
	election   *leader.Election
	server     *server.Server
	// term reports whether this replica writes the registration.
	term leader.Term
	// known is true after callers trust the certificate. settled is true while callers use only operations that
	// this replica answers.
	known, settled atomic.Bool
	life           *shell.Life
}

// Run serves until the context ends, and then completes requests in flight. It fails if it cannot start, or a server
// fails.
func Run(ctx context.Context, version string, o *Options, log io.Writer) error {
	logger, err := shell.Start(Name, version, o.Config.Logging, o.Config.Debugging, log)
	if err != nil {
		return err
	}
	p := &process{Options: o, log: logger, registry: prometheus.NewRegistry(), life: &shell.Life{
		Log: logger, Delay: o.Config.Shutdown.Delay.Duration, Timeout: o.Config.Shutdown.Timeout.Duration,
		Unfinished: "Stopping before all background work has ended",
	}}
	shell.AddProcessMetrics(p.registry)
	if err := p.prepare(ctx); err != nil {
		return err
	}
	m := &serving.Monitor{
		Program: Name, Address: o.Config.Metrics.Address, Metrics: p.registry, Profiling: o.Config.Debugging.Profiling,
		Ready: map[string]func(context.Context) error{"shutdown": serving.Ready(p.life.Draining), "certificate": p.certified, "registration": p.isKnown},
	}
	stop, err := m.Open(ctx, logger)
	if err != nil {
		return errors.Join(err, p.server.Close())
	}
	defer stop()
	return p.life.Serve(ctx, p.server.Serve, func(working context.Context, _ func(error)) []func() { return p.work(ctx, working) })
}

// prepare creates all parts and opens the address.
func (p *process) prepare(ctx context.Context) error {
	options, err := p.Reloading()
	if err != nil {
		return err
	}
	var metrics *server.Metrics
	options.Retires = p.Config.Registration != nil
	options.Metrics, options.Log = watch.NewMetrics(p.registry, "interpreter"), p.log.WithName("profiles")
	options.Changed = func(*reload.Active) {
		if metrics != nil { // metrics is created after the first activation
			metrics.Forget()
		}
	}
	if p.reloader, err = reload.Open(options); err != nil {
		return err
	}
	metrics = server.NewMetrics(p.registry, p.reloader.Knows)
	if p.source, err = p.Source(p.log.WithName("certificate")); err != nil {
		return err
	}
	if p.Config.Certificate.Secret == nil { // a cluster may answer later; files of this machine must have a certificate
		if err := p.source.Refresh(ctx); err != nil {
			return err
		}
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
		Address: p.Config.Server.Address, Interpreter: p.reloader, Certificate: certificate.Serve(p.source), Metrics: metrics,
		Log: p.log.WithName("server"), Draining: p.life.Draining,
		Limits: serving.Limits{
			Connections: int(l.Connections), Streams: int(l.Streams),
			Requests: int(l.Requests), Waiting: 4 * int(l.Requests), Behind: int(l.Requests),
			BodyBytes: int64(l.BodyBytes), BodiesBytes: int64(l.BodiesBytes), BodyTimeout: serving.BodyTimeout,
			Patience: 30 * time.Second, // an upper limit; callers send shorter timeouts
		},
	})
	return err
}

// work returns the background work. When ctx ends, the leader stops writing at once and releases the Lease, so
// that another replica can write. The rest continues until the server has ended.
func (p *process) work(ctx, working context.Context) []func() {
	every := time.Second // local files are cheap to read
	if p.Config.Certificate.Secret != nil {
		every = 10 * time.Second
	}
	work := []func(){
		func() { p.reloader.Run(working) },
		func() { certificate.Keep(working, p.source, every, p.registry, p.log.WithName("certificate")) },
	}
	if len(p.registrars) > 0 {
		work = append(work, func() { p.register(working) })
	}
	if p.replicas != nil {
		work = append(work, func() { p.replicas.Run(working) })
	}
	if p.election != nil {
		work = append(work, func() { p.election.Run(ctx) })
	}
	return work
}

func (p *process) certified(context.Context) error {
	switch held := p.source.Held(); {
	case held == nil:
		return errors.New("there is no certificate yet")
	case time.Now().After(held.Ends):
		return errors.New("the certificate has expired")
	}
	return nil
}

// isKnown returns an error until callers trust the certificate and use only operations that this replica
// answers.
func (p *process) isKnown(context.Context) error {
	switch {
	case len(p.registrars) == 0:
	case !p.known.Load():
		return errors.New("callers do not trust the certificate yet")
	case !p.settled.Load():
		return errors.New("callers use operations that the profiles of this replica do not have")
	}
	return nil
}

// prepareRegistration creates the registrars and, with several replicas, their announcements.
func (p *process) prepareRegistration(ctx context.Context) error {
	o := registration.Options{
		Kinds: p.kinds, Registered: p.recordCAs, Leads: p.term.Leads, Clock: clock.RealClock{}, Metrics: registration.NewMetrics(p.registry),
		Log: p.log.WithName("registration"),
	}
	if !p.term.Alone {
		leases, _, err := p.Leases()
		if err != nil {
			return err
		}
		name := p.Config.LeaderElection.ResourceName
		if err := registration.Suspend(ctx, leases, name, false); err != nil {
			p.log.Error(err, "Restoring the registration after --unregister failed")
		}
		p.replicas = &registration.Replicas{
			Leases: leases, Name: name + "-replicas", ID: string(uuid.NewUUID()), Kinds: p.kinds, Leads: p.term.Leads, Clock: clock.RealClock{},
			Log: p.log.WithName("replicas"),
		}
		o.Common = p.replicas.Common
	}
	var err error
	p.registrars, err = p.Registrars(o, p.source.Held)
	return err
}

// kinds returns the kinds that this replica registers.
func (p *process) kinds() []interpreter.Known { return p.Registrable(p.reloader.Active().Kinds()) }

// recordCAs records the CAs that callers trust.
func (p *process) recordCAs(ctx context.Context, bundle []byte) {
	if held := p.source.Held(); held != nil && held.Covers(bundle) {
		p.known.Store(true)
	}
	if err := p.source.Registered(ctx, bundle); err != nil && ctx.Err() == nil {
		p.log.Error(err, "Storing the authorities that callers trust failed; retrying")
	}
}

// register maintains the registration until the context ends. Dropped rules are kept until callers no longer
// use them.
func (p *process) register(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		current, settled := p.reloader.Active(), true
		for _, r := range p.registrars {
			r.Look(ctx)
			settled = settled && r.Settled()
		}
		if settled {
			p.reloader.Forget(current)
			p.settled.Store(true)
		}
	}, time.Second)
}
