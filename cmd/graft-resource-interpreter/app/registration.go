// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
)

// newRegistrar makes what keeps the registration.
func (p *program) newRegistrar() (*registration.Registrar, error) {
	r := p.Config.Registration
	client, err := p.Karmada()
	if err != nil {
		return nil, err
	}
	owner, err := p.Owner()
	if err != nil {
		return nil, err
	}
	return registration.New(registration.Options{
		Client: client, Owner: owner, Wanted: p.wanted, Registered: p.told, Leads: p.term.Leads, Period: r.SyncPeriod.Duration,
		Clock: clock.RealClock{}, Metrics: registration.NewMetrics(p.registry), Log: p.log.WithName("registration"),
	}), nil
}

// wanted is what should be registered now.
func (p *program) wanted() *configuration.ResourceInterpreterWebhookConfiguration {
	held := p.source.Held()
	if held == nil {
		return nil
	}
	return p.Registered(p.reloader.InForce().Kinds(), held.Bundle)
}

// told notes by which authorities callers know the server.
func (p *program) told(ctx context.Context, bundle []byte) {
	if held := p.source.Held(); held != nil && held.Covers(bundle) {
		p.known.Store(true)
	}
	if err := p.source.Registered(ctx, bundle); err != nil && ctx.Err() == nil {
		p.log.Error(err, "Noting what callers know failed; it is tried again")
	}
}

// register keeps the registration until the context ends.
func (p *program) register(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	p.registrar.Run(ctx, ticker.C)
}
