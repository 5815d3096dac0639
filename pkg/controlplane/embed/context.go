// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// contextFacts provides the facts of one object from its GardenContext. If inner is set, the facts come from it, and
// the context provides only the namespace.
type contextFacts struct {
	gctx  extensionscontextwebhook.GardenContext
	inner facts.Source
	found *facts.Facts
}

var _ facts.Source = (*contextFacts)(nil)

// Read implements facts.Source, once.
func (c *contextFacts) Read(ctx context.Context, _ string) (*facts.Facts, error) {
	if c.found != nil {
		return c.found, nil
	}
	cluster, err := c.cluster(ctx)
	if err != nil {
		return nil, err
	}
	if c.inner != nil {
		c.found, err = c.inner.Read(ctx, cluster.ObjectMeta.Name)
	} else {
		c.found, err = factsOf(cluster)
	}
	return c.found, err
}

// refresh reads again the objects that inner read from a cache, if any.
func (c *contextFacts) refresh(ctx context.Context) error {
	refresher, ok := c.inner.(facts.Refresher)
	if !ok {
		return nil
	}
	cluster, err := c.cluster(ctx)
	if err != nil {
		return err
	}
	c.found, err = refresher.Refresh(ctx, cluster.ObjectMeta.Name)
	return err
}

// Lookup implements facts.Source; profiles with lookups are refused where there is no inner source.
func (c *contextFacts) Lookup(ctx context.Context, _ string, l facts.LookupRequest) (*facts.Found, error) {
	if c.inner == nil {
		return nil, fmt.Errorf("looking up %s without a source of facts: %w", l.Name, facts.ErrUnavailable)
	}
	cluster, err := c.cluster(ctx)
	if err != nil {
		return nil, err
	}
	return c.inner.Lookup(ctx, cluster.ObjectMeta.Name, l)
}

// cluster reads the Cluster with the errors of facts.
func (c *contextFacts) cluster(ctx context.Context) (*extensionscontroller.Cluster, error) {
	cluster, err := c.gctx.GetCluster(ctx)
	switch {
	case err == nil && cluster == nil:
		return nil, fmt.Errorf("reading the Cluster: %w", facts.ErrNotFound)
	case err == nil:
		return cluster, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading the Cluster: %w", facts.ErrNotFound)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil, fmt.Errorf("reading the Cluster: %w", err)
	default:
		return nil, fmt.Errorf("reading the Cluster: %w: %w", facts.ErrUnavailable, err)
	}
}

// factsOf decodes the objects in a Cluster that were decoded into Go types before.
func factsOf(cluster *extensionscontroller.Cluster) (*facts.Facts, error) {
	var (
		raw  [3][]byte
		errs [3]error
	)
	if cluster.CloudProfile != nil {
		cloudProfile := *cluster.CloudProfile
		cloudProfile.TypeMeta = typeMeta("CloudProfile")
		raw[0], errs[0] = json.Marshal(&cloudProfile)
	}
	if cluster.Seed != nil {
		seed := *cluster.Seed
		seed.TypeMeta = typeMeta("Seed")
		raw[1], errs[1] = json.Marshal(&seed)
	}
	if cluster.Shoot != nil {
		shoot := *cluster.Shoot
		shoot.TypeMeta = typeMeta("Shoot")
		raw[2], errs[2] = json.Marshal(&shoot)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("encoding the Cluster %s: %w: %w", cluster.ObjectMeta.Name, facts.ErrUndecodable, err)
	}
	return facts.FromClusterObjects(cluster.ObjectMeta.Name, raw[0], raw[1], raw[2])
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: kind}
}
