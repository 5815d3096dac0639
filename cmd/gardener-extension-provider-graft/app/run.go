// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/installation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/leader"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Run serves until the context ends, and then completes requests in flight. It fails if it cannot start, a server
// fails, or the leadership is lost.
func Run(ctx context.Context, version string, o *installation.Installation) error {
	log, err := shell.Start(Name, version, o.Config.Logging, o.Config.Debugging, nil, "gardenerVersion", o.GardenerVersion, "generation", o.Generation.String())
	if err != nil {
		return err
	}
	logf.SetLogger(log)
	klog.SetLogger(log)
	config, err := o.RESTConfig(version)
	if err != nil {
		return err
	}
	mgr, err := o.NewManager(config, log)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	election := o.Config.LeaderElection
	leading, err := leader.NewManager(config, mgr, leader.Options{
		Enabled: *election.Enabled, Namespace: election.ResourceNamespace, Name: election.ResourceName, Lost: end,
	})
	if err != nil {
		return err
	}
	draining := &atomic.Bool{}
	registrar, err := o.AddTo(ctx, leading, draining)
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
	if err := start(drain(ctx, o, draining, registrar, log), mgr); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	log.Info("Stopped")
	if errors.Is(context.Cause(ctx), leader.ErrLost) {
		return leader.ErrLost
	}
	return nil
}

// abandonAfter limits the time that a manager takes to stop while it waits for its caches.
const abandonAfter = time.Second

// start runs the manager until the context ends. While a manager waits for its caches, its Start does not
// return when the context ends (controller-runtime: pkg/manager/runnable_group.go). Such a manager has not
// served yet and is abandoned.
func start(ctx context.Context, mgr manager.Manager) error {
	filled := make(chan struct{})
	if err := mgr.Add(manager.RunnableFunc(func(context.Context) error {
		close(filled)
		return nil
	})); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case <-filled:
		return <-ended
	default:
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(abandonAfter):
		return nil
	}
}

// withdrawTimeout limits the removal of the registration of a removed installation. The kubelet kills a Pod 30 seconds
// after it was told to stop.
const withdrawTimeout = 5 * time.Second

// drain returns a context that ends a configured delay after ctx. Until then, /readyz fails but requests are
// accepted, so that no API server finds a closed port.
func drain(ctx context.Context, o *installation.Installation, draining *atomic.Bool, registrar *webhook.Registrar, log logr.Logger) context.Context {
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
			log.Error(err, "Removing the registrations during uninstallation failed")
		}
		<-ended
	}()
	return drained
}
