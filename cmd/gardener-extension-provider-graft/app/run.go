// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap/zapcore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	"github.com/gardener/gardener/pkg/logger"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// makeCertDir creates a temporary folder for the serving certificate if none is configured. It returns a function that removes it.
func (o *Options) makeCertDir() (remove func(), err error) {
	if o.CertDir != "" {
		return func() {}, nil
	}
	if o.CertDir, err = os.MkdirTemp("", Name+"-"); err != nil {
		return nil, fmt.Errorf("making a folder for the certificate: %w", err)
	}
	return func() { _ = os.RemoveAll(o.CertDir) }, nil
}

// Run serves until the context ends, and then finishes what is in flight.
func Run(ctx context.Context, version string, o *Options) error {
	// Errors are results here: where one comes from is in its text, and a panic logs its own stack.
	log, err := logger.NewZapLogger(o.Config.Logging.Level, o.Config.Logging.Format, zap.StacktraceLevel(zapcore.PanicLevel))
	if err != nil {
		return err
	}
	logf.SetLogger(log)
	klog.SetLogger(log)
	log.Info("Starting", "program", Name, "version", version, "go", runtime.Version(),
		"gardenerVersion", o.GardenerVersion, "generation", o.Generation.String())
	if o.Config.Debugging.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
		runtime.SetMutexProfileFraction(1)
	}
	removeCertificates, err := o.makeCertDir()
	if err != nil {
		return err
	}
	defer removeCertificates()
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	config, err := o.restConfig(version)
	if err != nil {
		return err
	}
	mgr, err := o.newManager(config, scheme, log)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	leader, err := o.newLeadership(config, mgr, end)
	if err != nil {
		return err
	}
	tracer, flush, err := newTracer(ctx, version, log.WithName("tracing"))
	if err != nil {
		return err
	}
	defer flush()
	draining := &atomic.Bool{}
	registrar, err := o.addTo(ctx, leader, draining, tracer)
	if err != nil {
		return err
	}
	stop, err := (&serving.Monitor{
		Program: Name, Address: o.Config.Server.MetricsBindAddress, Metrics: metrics.Registry, Profiling: o.Config.Debugging.Profiling,
	}).Open(ctx, log)
	if err != nil {
		return err
	}
	defer stop()
	if err := mgr.Start(o.drain(ctx, draining, registrar, log)); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	log.Info("Stopped")
	if errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return nil
}

// withdrawTimeout is how long a program that ends takes to remove the registration of an installation that is removed.
const withdrawTimeout = 5 * time.Second

// drain is a context that ends a while after the given one: until then /readyz fails, and requests are still accepted, so that
// no API server meets a closed port.
func (o *Options) drain(ctx context.Context, draining *atomic.Bool, registrar *webhook.Registrar, log logr.Logger) context.Context {
	drained, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		<-ctx.Done()
		draining.Store(true)
		log.Info("Shutting down", "delay", o.Config.Shutdown.Delay.Duration, "cause", context.Cause(ctx).Error())
		ended := time.After(o.Config.Shutdown.Delay.Duration)
		within, end := context.WithTimeout(logf.IntoContext(drained, log), withdrawTimeout)
		defer end()
		if err := registrar.Withdraw(within); err != nil {
			log.Error(err, "Could not see whether the installation is being removed")
		}
		<-ended
	}()
	return drained
}

// addTo loads the profiles and adds everything that runs to the manager.
func (o *Options) addTo(ctx context.Context, mgr manager.Manager, draining *atomic.Bool, tracer trace.Tracer) (*webhook.Registrar, error) {
	store, measures, source, err := o.addProfiles(ctx, mgr)
	if err != nil {
		return nil, err
	}
	if err := warm(ctx, mgr); err != nil {
		return nil, err
	}
	optOuts := webhook.NewOptOuts(measures, mgr.GetLogger().WithName("opt-outs"))
	if err := webhook.AddOptOuts(ctx, mgr, optOuts); err != nil {
		return nil, err
	}
	trust, err := webhook.AddCertificates(ctx, mgr, o.Certificates, o.CertDir)
	if err != nil {
		return nil, err
	}
	if err := metrics.Registry.Register(webhook.Expiry{File: webhook.CertificateFile(o.CertDir), Bundle: trust}); err != nil {
		return nil, fmt.Errorf("counting how long certificates last: %w", err)
	}
	registrar := &webhook.Registrar{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Endpoint: o.Endpoint, Bundle: trust, Segments: trust, Registrations: store.Registrations,
		OwnerNamespace: o.OwnerNamespace, ManagedResource: o.ManagedResource, SyncPeriod: o.Config.Webhook.SyncPeriod.Duration,
		ValidateProfiles: o.Config.Profiles.ConfigMaps.Enabled,
		Installations: &webhook.Installations{
			Reader: mgr.GetClient(), Endpoint: o.Endpoint, Namespace: o.Certificates.Namespace, Clock: clock.RealClock{},
		},
		Metrics: measures, Clock: clock.RealClock{},
	}
	store.Uninstalling = registrar.Uninstalling
	callers, err := o.addCallers(ctx, mgr, registrar)
	if err != nil {
		return nil, err
	}
	handler := &webhook.Handler{
		Engine: store, Installations: registrar.Installations, OptOuts: optOuts, Metrics: measures,
		Events: webhook.NewEvents(mgr.GetEventRecorderFor(Name), source.HasCluster, measures),
		Tracer: tracer, Log: mgr.GetLogger().WithName("admission"),
		MaxReviewBytes: int64(o.Config.Webhook.MaxReviewBytes),
		Timeout:        time.Duration(o.Config.Webhook.TimeoutSeconds) * time.Second,
	}
	if err := o.addServer(ctx, mgr, callers, handler, webhook.Validator{Store: store}.Handler(), draining); err != nil {
		return nil, err
	}
	for _, add := range []func() error{
		func() error { return webhook.AddRegistrar(ctx, mgr, registrar, store.NotifyChanges()) },
		func() error { return o.addHeartbeat(mgr) },
		func() error { return o.addPatrol(mgr, store, registrar) },
		func() error { return o.addGate(mgr, store, registrar) },
		func() error { return o.addChecks(ctx, mgr, store, optOuts, registrar, draining) },
	} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return registrar, nil
}

// addCallers has every replica follow who may call it.
func (o *Options) addCallers(ctx context.Context, mgr manager.Manager, r *webhook.Registrar) (*webhook.Callers, error) {
	callers := &webhook.Callers{
		Segments: r.Segments, Reader: mgr.GetClient(), Name: o.Endpoint.Name, Certificates: len(o.ClientCA) > 0, Metrics: r.Metrics, Clock: r.Clock,
	}
	if err := callers.Prime(ctx, r); err != nil {
		return nil, err
	}
	return callers, webhook.AddPeers(ctx, mgr, callers, r.Installations)
}

// addProfiles loads the profiles once, and again when they change. Profiles that are invalid do not keep the program from serving the others. The
// first time the cache is not running yet.
func (o *Options) addProfiles(ctx context.Context, mgr manager.Manager) (*webhook.Store, *webhook.Metrics, *cluster.Source, error) {
	measures := webhook.NewMetrics(metrics.Registry)
	compiler, source, err := o.compiler(mgr)
	if err != nil {
		return nil, nil, nil, err
	}
	store := webhook.NewStore(compiler, profile.Parameters(o.Config.Parameters), measures, mgr.GetLogger().WithName("profiles"))
	store.Authorizer = webhook.AccessReviews{Client: mgr.GetClient()}
	store.Beside = overwriteFile
	first := []webhook.ProfileReader{webhook.Paths(o.Config.Profiles.Paths)}
	later := first
	if o.Config.Profiles.ConfigMaps.Enabled {
		namespace := o.Certificates.Namespace
		first = append(first[:1:1], webhook.ConfigMaps{Reader: mgr.GetAPIReader(), Namespace: namespace})
		later = append(later[:1:1], webhook.ConfigMaps{Reader: mgr.GetClient(), Namespace: namespace})
	}
	if err := o.keepLastGood(ctx, mgr, store); err != nil {
		return nil, nil, nil, err
	}
	if err := store.Load(ctx, first...); err != nil && !store.Loaded() {
		return nil, nil, nil, fmt.Errorf("loading the profiles: %w", err)
	}
	if err := webhook.AddReloader(ctx, mgr, store, o.Config.Profiles.ConfigMaps.Enabled, later...); err != nil {
		return nil, nil, nil, err
	}
	return store, measures, source, nil
}

// keepLastGood restores the last good versions of profiles, and has the leader keep and report those that follow. Without a namespace there is no
// place for them.
func (o *Options) keepLastGood(ctx context.Context, mgr manager.Manager, store *webhook.Store) error {
	namespace := o.Certificates.Namespace
	if namespace == "" {
		return nil
	}
	log := mgr.GetLogger().WithName("profiles")
	lastGood := &webhook.LastGood{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Namespace: namespace, Name: o.Certificates.FullName(), Store: store, Log: log,
	}
	if err := lastGood.Restore(ctx); apierrors.IsForbidden(err) {
		log.Error(err, "Last good versions of profiles are not kept for a restart")
	} else if err != nil {
		return err
	}
	if err := mgr.Add(lastGood); err != nil {
		return fmt.Errorf("adding what keeps last good profiles: %w", err)
	}
	reports := &webhook.Reports{
		Client: mgr.GetClient(), Events: mgr.GetEventRecorderFor(Name), Namespace: namespace, Name: o.Certificates.FullName(), Store: store, Log: log,
	}
	if err := mgr.Add(reports); err != nil {
		return fmt.Errorf("adding the reports on profiles: %w", err)
	}
	return nil
}

func (o *Options) addHeartbeat(mgr manager.Manager) error {
	if o.HeartbeatNamespace == "" {
		return nil
	}
	err := heartbeat.Add(mgr, heartbeat.AddArgs{
		ExtensionName: o.Certificates.FullName(), Namespace: o.HeartbeatNamespace,
		RenewIntervalSeconds: o.HeartbeatSeconds, Clock: clock.RealClock{},
	})
	if err != nil {
		return fmt.Errorf("adding the heartbeat: %w", err)
	}
	return nil
}
