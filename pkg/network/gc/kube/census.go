// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package kube counts existing Pods and ResourceClaims in a Kubernetes cluster for package gc. It keeps only UIDs and
// names. It needs permission to get, list and watch them, and to create events if it reports. It writes nothing else.
// It ignores a kind that the server does not serve. Start reading at New.
package kube

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
)

// kind is one that can hold something.
type kind struct {
	resource string
	// versions are those of the API that have it, the first that is served is taken.
	versions []schema.GroupVersion
	// node says that its objects can be selected by node.
	node bool
}

var kinds = map[string]kind{
	"Pod": {resource: "pods", versions: []schema.GroupVersion{{Version: "v1"}}, node: true},
	"ResourceClaim": {resource: "resourceclaims", versions: []schema.GroupVersion{
		{Group: "resource.k8s.io", Version: "v1"}, {Group: "resource.k8s.io", Version: "v1beta2"}, {Group: "resource.k8s.io", Version: "v1beta1"},
	}},
}

// Options are those of a census.
type Options struct {
	// Config leads to the cluster.
	Config *rest.Config
	// Node restricts Pods to those of one node; empty: all.
	Node  string
	Clock clock.PassiveClock
	// Patience limits the time to wait until a count is complete. Default 3 minutes; a server without changes sends a
	// bookmark about once a minute.
	Patience time.Duration
	Log      logr.Logger
}

// Census counts who lives in a cluster. It is safe for concurrent use.
type Census struct {
	options   Options
	client    metadata.Interface
	discovery discovery.DiscoveryInterface
	// started is closed when Run has begun.
	started chan struct{}

	mutex sync.Mutex
	// running is the context of Run, and nil before.
	running   context.Context //nolint:containedctx // registers begin when they are needed first, and end with Run
	registers map[string]*register
	ended     sync.WaitGroup
}

var _ gc.Census = (*Census)(nil)

// New makes a census; nothing is asked of the cluster before Run.
func New(o Options) (*Census, error) {
	if o.Patience == 0 {
		o.Patience = 3 * time.Minute
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = "graft-network-provider"
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	known, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return &Census{options: o, client: client, discovery: known, started: make(chan struct{}), registers: map[string]*register{}}, nil
}

// Run watches the kinds that are counted, until the context ends. It is called once.
func (c *Census) Run(ctx context.Context) {
	ctx = logr.NewContext(ctx, c.options.Log)
	c.mutex.Lock()
	c.running = ctx
	c.mutex.Unlock()
	close(c.started)
	<-ctx.Done()
	c.mutex.Lock()
	c.running = nil
	c.mutex.Unlock()
	c.ended.Wait()
}

// Count implements gc.Census: when it returns, it includes all changes before the call.
func (c *Census) Count(ctx context.Context, name string) (gc.Living, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	select {
	case <-c.started:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: the census is not running", gc.ErrUncounted)
	}
	r, err := c.register(name)
	if err != nil {
		return nil, err
	}
	at := c.options.Clock.Now()
	version, err := r.version(ctx)
	if apierrors.IsNotFound(err) {
		c.drop(name, r) // the version of the API is not served any more
	}
	if err != nil {
		return nil, err
	}
	if err := r.reach(ctx, version); err != nil {
		return nil, err
	}
	return &count{register: r, at: at}, nil
}

// register returns the register of a kind. It starts on first use.
func (c *Census) register(name string) (*register, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	of, known := kinds[name]
	switch {
	case !known:
		return nil, fmt.Errorf("%w: %s is no kind of Kubernetes that is counted", gc.ErrUncounted, name)
	case c.running == nil:
		return nil, fmt.Errorf("%w: the census has ended", gc.ErrUncounted)
	case c.registers[name] != nil:
		return c.registers[name], nil
	}
	found, err := c.served(of)
	if err != nil {
		return nil, err
	}
	node := ""
	if of.node {
		node = c.options.Node
	}
	r := newRegister(c.client.Resource(found), node)
	ctx, stop := context.WithCancel(c.running)
	r.stop = stop
	c.ended.Go(func() { r.reflector.RunWithContext(ctx) })
	c.registers[name] = r
	return r, nil
}

// served finds the version of the API that has a kind.
func (c *Census) served(of kind) (schema.GroupVersionResource, error) {
	for _, version := range of.versions {
		resources, err := c.discovery.ServerResourcesForGroupVersion(version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return schema.GroupVersionResource{}, fmt.Errorf("finding out what the cluster serves: %w", err)
		}
		if slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == of.resource }) {
			return version.WithResource(of.resource), nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%w: the cluster does not serve %s", gc.ErrUncounted, of.resource)
}

func (c *Census) drop(name string, r *register) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.registers[name] == r {
		delete(c.registers, name)
		r.stop()
	}
}

// Lives implements gc.Census.
func (c *Census) Lives(ctx context.Context, holder network.Holder) (bool, error) {
	if holder.Namespace == "" || holder.Name == "" {
		return false, nil
	}
	r, err := c.register(holder.Kind)
	if err != nil {
		return false, err
	}
	object, err := r.client.Namespace(holder.Namespace).Get(ctx, holder.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", holder, err)
	}
	return holder.UID == "" || string(object.UID) == holder.UID, nil
}

// parseVersion parses a resourceVersion as a number, which orders the versions of one kind.
func parseVersion(text string) (uint64, error) {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: the cluster's resourceVersion %q is not a number", gc.ErrUncounted, text)
	}
	return version, nil
}
