// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift/patrol"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

// What the search for drift asks of the API server at most, so that the admissions beside it have what they need: requests in a second, the time of one of them,
// which is longer than a webhook's, and the size of an answer. An object has less than two megabytes in etcd, and some more in JSON.
const (
	patrolRate    = 50
	patrolTimeout = 30 * time.Second
	patrolAnswer  = 32 << 20
)

// addPatrol has the replica that leads look for drift, where that is wanted.
func (o *Installation) addPatrol(mgr manager.Manager, store *webhook.Store, registrar *webhook.Registrar) error {
	wanted := o.Config.Drift
	if !wanted.Enabled {
		return nil
	}
	host, _, err := rest.DefaultServerUrlFor(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("adding the search for drift: %w", err)
	}
	rate := min(patrolRate, int(o.Config.ClientConnection.QPS))
	api := drift.Server{
		Host: host, Client: mgr.GetHTTPClient(), Timeout: patrolTimeout, MostBytes: patrolAnswer,
		Limiter: flowcontrol.NewTokenBucketRateLimiter(float32(rate), rate),
	}
	engine := drift.Timely{Engine: store, Timeout: patrolTimeout}
	p := &patrol.Patrol{
		Finder: drift.Finder{API: api, Engine: engine}, Interval: wanted.Interval.Duration, Clock: clock.RealClock{},
		Ready: func(ctx context.Context) error {
			if registrar.Installations.Any(store.Registrations()) {
				return errors.New("another installation serves providers of this one, whose objects are as that one wants them")
			}
			return registrar.Check(ctx, true)
		},
		Metrics: patrol.NewMetrics(metrics.Registry), Log: mgr.GetLogger().WithName("drift"),
	}
	if wanted.Touch {
		p.Toucher = &drift.Toucher{API: api, Engine: engine, Clock: p.Clock, Pause: time.Second / time.Duration(wanted.RatePerSecond)}
	}
	if err := mgr.Add(p); err != nil {
		return fmt.Errorf("adding the search for drift: %w", err)
	}
	return nil
}
