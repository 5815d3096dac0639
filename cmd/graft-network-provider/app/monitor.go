// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// monitor opens the monitoring port.
func (p *program) monitor(ctx context.Context) (stop func(), err error) {
	m := &serving.Monitor{
		Program: Name, Address: p.Config.Metrics.Address, Metrics: p.Registry, Profiling: p.Config.Debugging.Profiling,
		Ready: map[string]func(context.Context) error{"shutdown": serving.Stays(p.life.Draining), "ledger": p.remembers, "recovery": p.hasRecovered},
	}
	return m.Open(ctx, p.Log)
}

// noOwner is an owner without allocations.
var noOwner = network.Owner{Contract: "readyz", Key: "none"}

// remembers reports whether the ledger answers.
func (p *program) remembers(ctx context.Context) error {
	if !p.opened.Load() {
		return errors.New("the ledger is being opened")
	}
	if _, err := p.Reloader.Ledger().Get(ctx, noOwner); !errors.Is(err, network.ErrNotHeld) {
		return err
	}
	return nil
}

func (p *program) hasRecovered(context.Context) error {
	if !p.recovered.Load() {
		return errors.New("operations from before the start are being completed")
	}
	return nil
}
