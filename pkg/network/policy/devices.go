// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// facts is an entry of devices: attributes and settings, with a condition.
type facts struct {
	// cloud is the name of the cloud that describes the devices, or "".
	cloud      string
	when       *expression.Expression
	attributes []attribute
	config     *configuration
}

// Attributes returns the attributes of a device for its selection. The caller owns the map and its values. It fails if
// an expression fails. The number of attributes is not checked; see device.ValidateAttributes.
func (p *Policy) Attributes(ctx context.Context, d device.Device) (map[string]device.Attribute, error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	all := map[string]device.Attribute{}
	err := p.eachApplying(ctx, d, func(f *facts, vars *view) error {
		for _, a := range f.attributes {
			value, err := a.evaluate(ctx, vars)
			if err != nil {
				return fmt.Errorf("evaluating the attribute %s: %w", a.name, err)
			}
			all[a.name] = value
		}
		return nil
	})
	return all, err
}

// DeviceConfig returns the settings of a device for all users. It fails if an expression does.
func (p *Policy) DeviceConfig(ctx context.Context, d device.Device) (device.Config, error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	var merged device.Config
	err := p.eachApplying(ctx, d, func(f *facts, vars *view) error {
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

// DeviceClouds returns the names of the clouds that can describe a device. It fails if a condition does.
func (p *Policy) DeviceClouds(ctx context.Context, d device.Device) (names []string, err error) {
	ctx, end := expression.Limit(ctx)
	defer end()
	err = p.eachApplying(ctx, d, func(f *facts, _ *view) error {
		if f.cloud != "" && !slices.Contains(names, f.cloud) {
			names = append(names, f.cloud)
		}
		return nil
	})
	return names, err
}

// eachApplying calls each for the facts that apply to a device, in their order.
func (p *Policy) eachApplying(ctx context.Context, d device.Device, each func(*facts, *view) error) error {
	vars := &view{Subject: &Subject{Device: d}}
	for _, f := range p.devices {
		applies, err := isTrue(ctx, f.when, vars)
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

// attribute is a fact of a device.
type attribute struct {
	name string
	// template computes the value; it is nil if value is written as a number or a truth value.
	template *expression.Template
	value    ref.Val
	at       source.Position
}

// evaluate computes the value.
func (a attribute) evaluate(ctx context.Context, vars interpreter.Activation) (device.Attribute, error) {
	value := a.value
	if a.template != nil {
		var err error
		if value, err = a.template.Evaluate(ctx, vars); err != nil {
			return device.Attribute{}, err
		}
	}
	result, err := attributeOf(value)
	if err != nil {
		return device.Attribute{}, fmt.Errorf("%s: %w", a.at, err)
	}
	return result, nil
}

const attributeTypes = `must be a text, a whole number, true or false, or a version such as ${ semver("1.2.3") }`

// attributeOf converts a CEL value to an attribute. The error contains no value.
func attributeOf(value ref.Val) (device.Attribute, error) {
	switch v := value.(type) {
	case types.Bool:
		b := bool(v)
		return device.Attribute{Bool: &b}, nil
	case types.Int:
		i := int64(v)
		return device.Attribute{Int: &i}, nil
	case types.Uint:
		if i := int64(v); i >= 0 {
			return device.Attribute{Int: &i}, nil
		}
	case types.String:
		s := string(v)
		a := device.Attribute{String: &s}
		return a, a.Validate()
	case apiservercel.Semver:
		s := v.Version.String()
		a := device.Attribute{Version: &s}
		return a, a.Validate()
	}
	return device.Attribute{}, errors.New(attributeTypes)
}
