// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package patrol periodically looks for drift in the extension, counts the findings, and touches the objects if
// operators enable this. It is off by default and runs only in the leader. Start reading at Patrol.
package patrol

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// Patrol is a Runnable of a manager.
type Patrol struct {
	Finder drift.Finder
	// Toucher touches drifted objects; if nil, they are only counted.
	Toucher *drift.Toucher
	// Interval is the time between the end of a look and the next one.
	Interval time.Duration
	// Ready says whether the webhooks are registered, before which nothing is looked at; nil: they are.
	Ready   func(context.Context) error
	Clock   clock.Clock
	Metrics *Metrics
	Log     logr.Logger

	// futile delays further touches of objects that a touch did not fix.
	futile futile
}

// NeedLeaderElection returns true: only the leader patrols, because two replicas would touch at twice the rate.
func (*Patrol) NeedLeaderElection() bool { return true }

// Start patrols until the context ends.
func (p *Patrol) Start(ctx context.Context) error {
	p.Log.Info("Looking for drift", "interval", p.Interval, "touch", p.Toucher != nil)
	for {
		pause := notReady
		if p.Ready == nil || p.Ready(ctx) == nil {
			p.look(ctx)
			pause = p.Interval
		}
		timer := p.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// notReady is how soon it is asked again whether the webhooks are registered.
const notReady = time.Second

// look looks once at everything, and then touches.
func (p *Patrol) look(ctx context.Context) {
	count := counts{}
	var drifted []drift.Object
	summary, err := p.Finder.Find(ctx, func(f drift.Finding) error {
		count[key{string(f.Set), f.Target, string(f.State)}]++
		if p.Toucher != nil && f.State.Drifted() && !last(drifted, f.Object) {
			drifted = append(drifted, f.Object)
		}
		return nil
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.Metrics.failed()
		p.Log.Error(err, "Looking for drift failed")
		return
	}
	p.Metrics.found(count, summary, p.Clock.Now())
	for _, unread := range summary.Unread {
		p.Log.Error(nil, "A control plane could not be read", "namespace", unread.Namespace, "problem", unread.Problem)
	}
	p.Log.Info("Looked for drift", "controlPlanes", summary.ControlPlanes, "objects", summary.Objects, "drifted", summary.Drifted(), "unread", len(summary.Unread))
	p.touchAll(ctx, drifted)
}

// touchAll touches the drifted objects, except those that rest after futile touches. It stops after too many futile
// touches in a row, which indicate another problem.
func (p *Patrol) touchAll(ctx context.Context, drifted []drift.Object) {
	if p.Toucher == nil {
		return
	}
	drifted = p.futile.wanted(drifted, p.Finder.Engine)
	defer func() { p.Metrics.resting.Set(float64(p.futile.resting())) }()
	vain := &drift.Vain{}
	for i, object := range drifted {
		outcome := p.touch(ctx, object)
		if outcome == "" {
			return
		}
		p.futile.seen(object, outcome)
		if vain.Seen(outcome) {
			p.Metrics.givenUp.Inc()
			p.Log.Error(nil, "Touching is given up until the next look", "why", vain.String(), "left", len(drifted)-i-1)
			return
		}
	}
}

// last reports whether the previous finding is the same object, for another webhook.
func last(all []drift.Object, o drift.Object) bool {
	return len(all) > 0 && all[len(all)-1].Same(o)
}

// touch touches one object; no outcome says that the context has ended.
func (p *Patrol) touch(ctx context.Context, o drift.Object) drift.Outcome {
	outcome, err := p.Toucher.Touch(ctx, o)
	if ctx.Err() != nil {
		return ""
	}
	if outcome == "" {
		outcome = drift.Failed
	}
	p.Metrics.touched.WithLabelValues(string(outcome)).Inc()
	if err != nil {
		p.Log.Error(err, "Touching failed", "kind", o.Kind, "namespace", o.Namespace, "name", o.Name)
		return outcome
	}
	p.Log.Info("Touched", "kind", o.Kind, "namespace", o.Namespace, "name", o.Name, "outcome", outcome)
	return outcome
}
