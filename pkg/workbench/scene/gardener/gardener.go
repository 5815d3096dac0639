// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gardener is the scene.Generator that writes control planes with Gardener's own component code, in this process. That
// code is heavy: graft itself must not link it, and runs graft-controlplane instead. Enter at Generator.
package gardener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// Generator writes control planes in this process.
type Generator struct{}

var _ scene.Generator = Generator{}

// Generate implements scene.Generator.
func (Generator) Generate(ctx context.Context, options ...scene.Options) ([]scene.Generated, error) {
	planes := generate(ctx, options)
	for _, plane := range planes {
		if plane.Error != "" {
			return nil, errors.New(plane.Error)
		}
	}
	return planes, nil
}

// Serve reads options until the end of the input, one JSON object after the other, and writes a line for each in their
// order. The line contains an Error if the generation fails. Serve itself fails for invalid JSON, and if it cannot
// write.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var options []scene.Options
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	for {
		var o scene.Options
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the options of control plane %d: %w", len(options)+1, err)
		}
		options = append(options, o)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, generated := range generate(ctx, options) {
		if err := encoder.Encode(generated); err != nil {
			return fmt.Errorf("writing control planes: %w", err)
		}
	}
	return nil
}

func generate(ctx context.Context, options []scene.Options) []scene.Generated {
	planes := make([]scene.Generated, len(options))
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, o := range options {
		group.Go(func() error {
			var err error
			if planes[i], err = plane(ctx, o); err != nil {
				planes[i] = scene.Generated{Error: err.Error()}
			}
			return nil
		})
	}
	_ = group.Wait() // no step fails: each plane contains its error
	return planes
}
