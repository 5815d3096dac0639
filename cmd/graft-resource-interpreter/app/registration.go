// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
)

// prepareRegistration creates the registrars and, with several replicas, their announcements.
func (p *program) prepareRegistration(ctx context.Context) error {
	o := registration.Options{
		Kinds: p.kinds, Registered: p.told, Leads: p.term.Leads, Clock: clock.RealClock{}, Metrics: registration.NewMetrics(p.registry),
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
			Leases: leases, Name: name + replicasSuffix, ID: string(uuid.NewUUID()), Kinds: p.kinds, Leads: p.term.Leads, Clock: clock.RealClock{},
			Log: p.log.WithName("replicas"),
		}
		o.Common = p.replicas.Common
	}
	var err error
	p.registrars, err = p.Registrars(o, func() ([]byte, bool) {
		held := p.source.Held()
		if held == nil {
			return nil, false
		}
		return held.Bundle, true
	})
	return err
}

// replicasSuffix is the suffix of the Lease with the replicas' announcements.
const replicasSuffix = "-replicas"

// kinds returns the kinds that this replica registers.
func (p *program) kinds() []interpreter.Known { return p.Registrable(p.reloader.InForce().Kinds()) }

// told records the authorities that callers trust.
func (p *program) told(ctx context.Context, bundle []byte) {
	if held := p.source.Held(); held != nil && held.Covers(bundle) {
		p.known.Store(true)
	}
	if err := p.source.Registered(ctx, bundle); err != nil && ctx.Err() == nil {
		p.log.Error(err, "Storing the authorities that callers trust failed; retrying")
	}
}

// register maintains the registration until the context ends. Dropped rules are kept until callers no longer
// use them.
func (p *program) register(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		current, settled := p.reloader.InForce(), true
		for _, r := range p.registrars {
			r.Look(ctx)
			settled = settled && r.Settled()
		}
		if settled {
			p.reloader.Forget(current)
			p.settled.Store(true)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// announce announces this replica's kinds to the other replicas.
func (p *program) announce(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	p.replicas.Run(ctx, ticker.C)
}
