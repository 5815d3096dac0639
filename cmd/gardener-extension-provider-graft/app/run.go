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
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	"github.com/gardener/gardener/pkg/logger"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

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
	if o.CertDir == "" {
		if o.CertDir, err = os.MkdirTemp("", Name+"-"); err != nil {
			return fmt.Errorf("making a folder for the certificate: %w", err)
		}
		defer func() { _ = os.RemoveAll(o.CertDir) }()
	}
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
	if err := o.addTo(ctx, leader, draining, tracer); err != nil {
		return err
	}
	if err := mgr.Start(o.drain(ctx, draining, log)); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	log.Info("Stopped")
	if errors.Is(context.Cause(ctx), errLeaseLost) {
		return errLeaseLost
	}
	return nil
}

// drain is a context that ends a while after the given one: until then /readyz fails, and requests are still accepted, so that
// no API server meets a closed port.
func (o *Options) drain(ctx context.Context, draining *atomic.Bool, log logr.Logger) context.Context {
	drained, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		<-ctx.Done()
		draining.Store(true)
		log.Info("Shutting down", "delay", o.Config.Shutdown.Delay.Duration, "cause", context.Cause(ctx).Error())
		time.Sleep(o.Config.Shutdown.Delay.Duration)
	}()
	return drained
}

// callsOnConnection are how many admissions there are on a connection, on the average: few enough that connections are spread a minute after a replica has come
// where there are some admissions in a second, and so many that what it costs to connect is nothing beside them.
const callsOnConnection = 256

// addTo loads the profiles and adds everything that runs to the manager.
func (o *Options) addTo(ctx context.Context, mgr manager.Manager, draining *atomic.Bool, tracer trace.Tracer) error {
	store, measures, err := o.addProfiles(ctx, mgr)
	if err != nil {
		return err
	}
	if err := warm(ctx, mgr); err != nil {
		return err
	}
	optOuts := webhook.NewOptOuts(measures, mgr.GetLogger().WithName("opt-outs"))
	if err := webhook.AddOptOuts(ctx, mgr, optOuts); err != nil {
		return err
	}
	handler := &webhook.Handler{
		Engine: store, OptOuts: optOuts, Metrics: measures, Events: webhook.NewEvents(mgr.GetEventRecorderFor(Name), measures),
		Tracer: tracer, Log: mgr.GetLogger().WithName("admission"),
		MaxReviewBytes: int64(o.Config.Webhook.MaxReviewBytes),
		Timeout:        time.Duration(o.Config.Webhook.TimeoutSeconds) * time.Second,
	}
	spread := serving.Spread{Handler: handler, Calls: callsOnConnection}
	mgr.GetWebhookServer().Register(webhook.PathPrefix, serving.Drain{Handler: spread, Draining: draining.Load})
	bundle, err := webhook.AddCertificates(ctx, mgr, o.Certificates, o.CertDir)
	if err != nil {
		return err
	}
	if err := metrics.Registry.Register(webhook.Expiry{File: webhook.CertificateFile(o.CertDir), Bundle: bundle}); err != nil {
		return fmt.Errorf("counting how long certificates last: %w", err)
	}
	registrar := &webhook.Registrar{
		Client: mgr.GetClient(), Endpoint: o.Endpoint, Bundle: bundle, Registrations: store.Registrations,
		OwnerNamespace: o.OwnerNamespace, SyncPeriod: o.Config.Webhook.SyncPeriod.Duration,
	}
	if err := webhook.AddRegistrar(mgr, registrar, store.NotifyChanges()); err != nil {
		return err
	}
	if err := o.addHeartbeat(mgr); err != nil {
		return err
	}
	if err := o.addPatrol(mgr, store, registrar); err != nil {
		return err
	}
	if err := o.addGate(mgr, registrar); err != nil {
		return err
	}
	return o.addChecks(mgr, store, optOuts, registrar, draining)
}

// addProfiles loads the profiles once, without which the program does not start, and again when they change. The first time the
// cache is not running yet.
func (o *Options) addProfiles(ctx context.Context, mgr manager.Manager) (*webhook.Store, *webhook.Metrics, error) {
	measures := webhook.NewMetrics(metrics.Registry)
	compiler, err := o.compiler(mgr)
	if err != nil {
		return nil, nil, err
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
	if err := store.Load(ctx, first...); err != nil {
		return nil, nil, fmt.Errorf("loading the profiles: %w", err)
	}
	if err := webhook.AddReloader(ctx, mgr, store, o.Config.Profiles.ConfigMaps.Enabled, later...); err != nil {
		return nil, nil, err
	}
	return store, measures, nil
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
