// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift/patrol"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

// addPatrol has the replica that leads look for drift, where that is wanted.
func (o *Options) addPatrol(mgr manager.Manager, store *webhook.Store, registrar *webhook.Registrar) error {
	wanted := o.Config.Drift
	if !wanted.Enabled {
		return nil
	}
	host, _, err := rest.DefaultServerUrlFor(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("adding the search for drift: %w", err)
	}
	api := drift.Server{Host: host, Client: mgr.GetHTTPClient()}
	p := &patrol.Patrol{
		Finder: drift.Finder{API: api, Engine: store}, Interval: wanted.Interval.Duration, Clock: clock.RealClock{},
		Ready:   func(ctx context.Context) error { return registrar.Check(ctx, true) },
		Metrics: patrol.NewMetrics(metrics.Registry), Log: mgr.GetLogger().WithName("drift"),
	}
	if wanted.Touch {
		p.Toucher = &drift.Toucher{API: api, Engine: store, Clock: p.Clock, Pause: time.Second / time.Duration(wanted.RatePerSecond)}
	}
	if err := mgr.Add(p); err != nil {
		return fmt.Errorf("adding the search for drift: %w", err)
	}
	return nil
}
