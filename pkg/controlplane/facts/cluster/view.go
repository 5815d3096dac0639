// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// View is a Source for a program that uses only some parts of a Cluster: other parts are unknown and not kept. Parts
// that were dropped are read again for another program that uses them.
type View struct {
	*Source

	parts facts.Parts
}

var (
	_ facts.Source    = View{}
	_ facts.Refresher = View{}
)

// Naming returns the view of a program that uses these parts.
func (s *Source) Naming(parts facts.Parts) View { return View{s, parts} }

// Read implements facts.Source.
func (v View) Read(ctx context.Context, namespace string) (*facts.Facts, error) {
	if namespace == target.GardenNamespace {
		return v.readGarden(ctx, v.cached, v.direct)
	}
	meta, err := v.readNamespace(ctx, namespace)
	switch {
	case err != nil:
		return nil, err
	case v.versions.client == nil:
		return v.readCluster(ctx, meta, v.parts, v.cached, v.direct)
	}
	if f := v.kept(meta); f != nil {
		return f, nil
	}
	done, err := v.turns.take(ctx, namespace)
	if err != nil {
		return nil, err
	}
	defer done()
	// Another caller may have read it in the meantime.
	if f := v.kept(meta); f != nil {
		return f, nil
	}
	return v.receiveCluster(ctx, meta, v.parts)
}

// kept returns the facts of the latest known version, or nil if they are not cached.
func (v View) kept(namespace *metav1.PartialObjectMetadata) *facts.Facts {
	current, known := v.versions.of(namespace.Name)
	if !known {
		return nil
	}
	kept, ok := v.facts.lookup(namespace.Name)
	if !ok || !kept.good(version{current.uid, current.resource, namespace.ResourceVersion}, v.parts) {
		return nil
	}
	return kept.facts
}

// Refresh implements facts.Refresher.
func (v View) Refresh(ctx context.Context, namespace string) (*facts.Facts, error) {
	if namespace == target.GardenNamespace {
		return v.readGarden(ctx, v.direct)
	}
	meta, err := v.readNamespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if v.wire.client == nil {
		return v.readCluster(ctx, meta, v.parts, v.direct)
	}
	return v.receiveCluster(ctx, meta, v.parts)
}
