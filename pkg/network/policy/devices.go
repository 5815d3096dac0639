// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

// facts are those of some devices.
type facts struct {
	when       *expression.Expression
	attributes []attribute
	config     *configuration
}

// Attributes returns the attributes of a device for its selection. The caller owns the map and its values.
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

// DeviceConfig returns the settings of a device for all users.
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
