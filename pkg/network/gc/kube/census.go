// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package kube lists existing Pods and ResourceClaims in a Kubernetes cluster for package gc. It keeps only UIDs and
// names. It needs permission to get and list them, and writes nothing. It ignores a kind that the server does not serve.
// Start reading at New.
package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
)

// ownerKind is a kind of object that can hold something.
type ownerKind struct {
	resource string
	// versions are the API versions that have the kind. The first one that the cluster serves is used.
	versions []schema.GroupVersion
	// node reports that its objects can be selected by node.
	node bool
}

var kinds = map[string]ownerKind{
	"Pod": {resource: "pods", versions: []schema.GroupVersion{{Version: "v1"}}, node: true},
	"ResourceClaim": {resource: "resourceclaims", versions: []schema.GroupVersion{
		{Group: "resource.k8s.io", Version: "v1"}, {Group: "resource.k8s.io", Version: "v1beta2"}, {Group: "resource.k8s.io", Version: "v1beta1"},
	}},
}

// Options configure a census.
type Options struct {
	// Config is the client configuration for the cluster.
	Config *rest.Config
	// Node restricts Pods to those of one node; empty: all.
	Node  string
	Clock clock.PassiveClock
	// Timeout limits the time of a count. Default 3 minutes.
	Timeout time.Duration
}

// Census lists the live objects of a cluster. It is safe for concurrent use.
type Census struct {
	options Options
	client  metadata.Interface
	// served maps kinds to the resources that the last counts have found.
	served sync.Map
}

var _ gc.Census = (*Census)(nil)

// New returns a census. It does not call the cluster. It fails if the kubeconfig is invalid.
func New(o Options) (*Census, error) {
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Minute // pages of all Pods of a large cluster
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = "graft-network-provider"
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return &Census{options: o, client: client}, nil
}

// Count implements gc.Census. It lists the objects page by page, as they are in the store of the cluster and not in a
// cache of the server. It fails with gc.ErrUncounted for a kind that the cluster does not serve.
func (c *Census) Count(ctx context.Context, name string) (*gc.Population, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	of, known := kinds[name]
	if !known {
		return nil, fmt.Errorf("%w: %s is not a kind of holders", gc.ErrUncounted, name)
	}
	made := &gc.Population{At: c.options.Clock.Now(), UIDs: map[string]struct{}{}, Names: map[string]struct{}{}}
	options := metav1.ListOptions{}
	if of.node && c.options.Node != "" {
		made.Node, options.FieldSelector = c.options.Node, "spec.nodeName="+c.options.Node
	}
	for _, version := range of.versions {
		resource := version.WithResource(of.resource)
		list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return c.client.Resource(resource).List(ctx, options)
		}
		err := pager.New(list).EachListItem(ctx, options, func(object runtime.Object) error {
			m, err := meta.Accessor(object)
			if err == nil {
				made.UIDs[string(m.GetUID())], made.Names[m.GetNamespace()+"/"+m.GetName()] = struct{}{}, struct{}{}
			}
			return err
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing the resources of the cluster: %w", err)
		}
		c.served.Store(name, resource)
		return made, nil
	}
	return nil, fmt.Errorf("%w: the cluster does not serve %s", gc.ErrUncounted, of.resource)
}

// Lives implements gc.Census. It fails with gc.ErrUncounted for a kind that was not counted.
func (c *Census) Lives(ctx context.Context, holder network.Holder) (bool, error) {
	if holder.Namespace == "" || holder.Name == "" {
		return false, nil
	}
	resource, counted := c.served.Load(holder.Kind)
	if !counted {
		return false, fmt.Errorf("%w: the search counted no objects of kind %s", gc.ErrUncounted, holder.Kind)
	}
	object, err := c.client.Resource(resource.(schema.GroupVersionResource)).Namespace(holder.Namespace).Get(ctx, holder.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", holder, err)
	}
	return holder.UID == "" || string(object.UID) == holder.UID, nil
}
