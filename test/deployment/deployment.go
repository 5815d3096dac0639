// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package deployment writes the control planes of samples to an API server, as gardenlet does. Start reading at
// Surroundings, and then at ControlPlane.
package deployment

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// Surroundings writes the objects that exist before a control plane: the namespace, the Cluster, and the given ones.
func Surroundings(ctx context.Context, c client.Client, o sample.Options, more ...client.Object) error {
	namespace, err := sample.Namespace(o)
	if err != nil {
		return err
	}
	cluster, err := sample.Cluster(o)
	if err != nil {
		return err
	}
	for _, object := range append([]client.Object{namespace, cluster}, more...) {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// ControlPlane writes the objects of a control plane.
func ControlPlane(ctx context.Context, c client.Client, o sample.Options) error {
	objects, err := sample.ControlPlane(ctx, o)
	if err != nil {
		return err
	}
	for _, object := range objects {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(object.JSON, u); err != nil {
			return err
		}
		if err := c.Create(ctx, u); err != nil {
			return fmt.Errorf("creating %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}
