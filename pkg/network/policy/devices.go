// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// facts are those of some devices.
type facts struct {
	when       *expression.Expression
	attributes []attribute
	config     *configuration
}

// facts compiles those of some devices.
func (c *compiler) facts(p place, spec v1alpha1.NetworkDevices) *facts {
	if len(spec.Attributes) == 0 && spec.Config.Absent() {
		c.add(p.At("attributes"), source.MissingField, "says nothing: attributes or config is needed")
	}
	f := &facts{when: c.condition(c.device, spec.When, p.At("when"), "the entry", "")}
	f.attributes = c.attributes(p.At("attributes"))
	f.config = c.configuration(c.device, spec.Config.Node, p.At("config"))
	if chosen := p.At("config").At("profile"); !chosen.Absent() && !isComputed(chosen.Node) && c.policy.profiles[chosen.Node.Value] == nil {
		known := slices.Collect(maps.Keys(c.policy.profiles))
		finding := chosen.FindingOf(UnknownReference, "there is no profile %q%s", chosen.Node.Value, source.Suggest(chosen.Node.Value, known))
		c.findings = append(c.findings, finding.Instead(chosen.Node, known))
	}
	return f
}

// Attributes are the facts of a device by which it can be chosen. The map and what it leads to are the caller's.
func (p *Policy) Attributes(ctx context.Context, d device.Device) (map[string]device.Attribute, error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	all := map[string]device.Attribute{}
	err := p.applying(ctx, d, func(f *facts, vars *view) error {
		for _, a := range f.attributes {
			value, err := a.evaluate(ctx, vars)
			if err != nil {
				return fmt.Errorf("evaluating the attribute %s: %w", a.name, err)
			}
			all[a.name] = value
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(all) > maximumAttributes:
		return nil, fmt.Errorf("%d attributes, where a device can have %d", len(all), maximumAttributes)
	}
	return all, nil
}

// DeviceConfig is what is set on a device whoever uses it.
func (p *Policy) DeviceConfig(ctx context.Context, d device.Device) (device.Config, error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	var merged device.Config
	err := p.applying(ctx, d, func(f *facts, vars *view) error {
		config, err := f.config.evaluate(ctx, vars)
		if err != nil {
			return fmt.Errorf("evaluating the configuration of a device: %w", err)
		}
		merged = device.Merge(merged, config)
		return nil
	})
	if err != nil {
		return device.Config{}, err
	}
	return merged, nil
}

// applying calls each for the facts that apply to a device, in their order.
func (p *Policy) applying(ctx context.Context, d device.Device, each func(*facts, *view) error) error {
	vars := &view{Subject: &Subject{Device: d}}
	for _, f := range p.devices {
		applies, err := holds(ctx, f.when, vars)
		if err != nil {
			return fmt.Errorf("evaluating the condition of facts of devices: %w", err)
		}
		if !applies {
			continue
		}
		if err := each(f, vars); err != nil {
			return err
		}
	}
	return nil
}
