// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package deployment writes sample control planes to an API server, as gardenlet does. The program graft-controlplane
// generates them: Gardener's component code would double the size of every test binary. Start reading at Generate.
package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// Deployment is a control plane that gardenlet would write.
type Deployment struct {
	// Namespace and Cluster exist before the control plane.
	Namespace, Cluster *unstructured.Unstructured
	// Objects are the objects of the control plane.
	Objects []*unstructured.Unstructured
}

// Generate generates a control plane with bin/graft-controlplane of this repository. It fails if the program is missing
// or older than its source, and if no control plane can have the options.
func Generate(ctx context.Context, options snapshot.Options) (*Deployment, error) {
	program, err := env.Program(env.Root(), snapshot.GeneratorName)
	if err != nil {
		return nil, err
	}
	generated, err := snapshot.Command{Path: program}.Generate(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("generating a control plane: %w", err)
	}
	if problem := generated[0].Error; problem != "" {
		return nil, fmt.Errorf("generating a control plane: %w", errors.New(problem))
	}
	d := &Deployment{}
	if d.Namespace, err = decode(generated[0].Namespace); err != nil {
		return nil, err
	}
	if d.Cluster, err = decode(generated[0].Cluster); err != nil {
		return nil, err
	}
	for _, raw := range generated[0].Objects {
		object, err := decode(raw)
		if err != nil {
			return nil, err
		}
		d.Objects = append(d.Objects, object)
	}
	return d, nil
}

func decode(raw json.RawMessage) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("reading a generated object: %w", err)
	}
	return object, nil
}

// CreateSurroundings creates what exists before the control plane: the namespace, the Cluster, and the given objects.
func (d *Deployment) CreateSurroundings(ctx context.Context, c client.Client, more ...client.Object) error {
	return create(ctx, c, append([]client.Object{d.Namespace, d.Cluster}, more...)...)
}

// CreateObjects creates the objects of the control plane.
func (d *Deployment) CreateObjects(ctx context.Context, c client.Client) error {
	for _, object := range d.Objects {
		if err := create(ctx, c, object); err != nil {
			return err
		}
	}
	return nil
}

func create(ctx context.Context, c client.Client, objects ...client.Object) error {
	for _, object := range objects {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}
