// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// errPlanned stops building a scene that needs a control plane to be generated.
var errPlanned = errors.New("planned")

// planes holds the control planes of all cases. It is a scene.Generator that first records the requested ones, to
// generate all of them in one run.
type planes struct {
	wanted []scene.Options
	keys   []string
	made   map[string]*plane
}

type plane struct {
	scene.Generated
	err error
}

func newPlanes() *planes { return &planes{made: map[string]*plane{}} }

// Generate implements scene.Generator.
func (p *planes) Generate(_ context.Context, options ...scene.Options) ([]scene.Generated, error) {
	generated := make([]scene.Generated, 0, len(options))
	missing := false
	for _, o := range options {
		key, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("reading the options of a control plane: %w", err)
		}
		made, known := p.made[string(key)]
		switch {
		case !known:
			p.made[string(key)] = nil
			p.wanted, p.keys = append(p.wanted, o), append(p.keys, string(key))
			missing = true
		case made == nil:
			missing = true
		case made.err != nil:
			return nil, made.err
		default:
			generated = append(generated, made.Generated)
		}
	}
	if missing {
		return nil, errPlanned
	}
	return generated, nil
}

// generate generates the recorded control planes. Requests for those that fail return the error.
func (p *planes) generate(ctx context.Context, generator scene.Generator) error {
	if len(p.wanted) == 0 {
		return nil
	}
	if generator == nil {
		return scene.ErrNoGenerator
	}
	all, err := generator.Generate(ctx, p.wanted...)
	if err == nil {
		for i, key := range p.keys {
			p.made[key] = &plane{Generated: all[i]}
		}
		p.wanted, p.keys = nil, nil
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, scene.ErrNoGenerator) || len(p.wanted) == 1 {
		return p.failed(ctx, err)
	}
	// One by one, to tell which of them cannot be made.
	for i, key := range p.keys {
		one, err := generator.Generate(ctx, p.wanted[i])
		if p.made[key] = (&plane{err: err}); err == nil {
			p.made[key].Generated = one[0]
		}
	}
	p.wanted, p.keys = nil, nil
	return ctx.Err()
}

func (p *planes) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, scene.ErrNoGenerator) {
		return err
	}
	p.made[p.keys[0]] = &plane{err: err}
	p.wanted, p.keys = nil, nil
	return nil
}
