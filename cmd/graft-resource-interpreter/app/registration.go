// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
)

// clusterTimeout bounds a request to an API server.
const clusterTimeout = 15 * time.Second

// Of the lease: how long it holds, how long its holder tries to renew it, and how often.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// registered is what is written in Karmada's API server for kinds, and a bundle of authorities.
func (o *Options) registered(kinds []interpreter.Known, bundle []byte) *configuration.ResourceInterpreterWebhookConfiguration {
	r := o.Config.Registration
	endpoint := configuration.Endpoint{URL: r.URL, CABundle: bundle, TimeoutSeconds: r.TimeoutSeconds}
	if s := r.Service; s != nil {
		endpoint.Service = &admissionv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: &s.Path, Port: &s.Port}
	}
	left := make([]interpreter.Operation, len(r.Without))
	for i, name := range r.Without {
		left[i] = interpreter.Operation(name)
	}
	return configuration.Interpreter(r.Name, interpreter.Without(kinds, left...), endpoint)
}

// newRegistrar makes what keeps the registration.
func (p *program) newRegistrar() (*registration.Registrar, error) {
	r := p.Config.Registration
	config, err := clusterAt(cmp.Or(r.Kubeconfig, p.Config.Kubernetes.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("registration: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("registration: making a client: %w", err)
	}
	owner, err := p.owner()
	if err != nil {
		return nil, err
	}
	return registration.New(registration.Options{
		Client: client, Owner: owner, Wanted: p.wanted, Registered: p.told, Leads: p.leads.is, Period: r.SyncPeriod.Duration,
		Clock: clock.RealClock{}, Metrics: registration.NewMetrics(p.registry), Log: p.log.WithName("registration"),
	}), nil
}

// owner names the installation: by what is said, or by something that no other one has.
func (o *Options) owner() (func(context.Context) (string, error), error) {
	r := o.Config.Registration
	if r.Owner != "" || !*o.Config.LeaderElection.Enabled {
		name := cmp.Or(r.Owner, r.URL)
		if name == "" {
			name = r.Service.Namespace + "/" + r.Service.Name
		}
		return func(context.Context) (string, error) { return name, nil }, nil
	}
	config, err := clusterAt(o.Config.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, err
	}
	clients, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("registration: making a client: %w", err)
	}
	namespace, err := o.namespace(o.Config.LeaderElection.ResourceNamespace)
	if err != nil {
		return nil, err
	}
	return ownerOf(clients.Leases(namespace), namespace, o.Config.LeaderElection.ResourceName), nil
}

// ownerOf names the installation by its Lease. Other clusters have Leases of the same name, but none with its UID.
func ownerOf(leases coordinationv1.LeaseInterface, namespace, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading the Lease: %w", err)
		}
		return fmt.Sprintf("%s/%s (%s)", namespace, name, lease.UID), nil
	}
}

// wanted is what should be registered now.
func (p *program) wanted() *configuration.ResourceInterpreterWebhookConfiguration {
	held := p.source.Held()
	if held == nil {
		return nil
	}
	return p.registered(p.reloader.InForce().Kinds(), held.Bundle)
}

// told notes by which authorities callers know the server.
func (p *program) told(ctx context.Context, bundle []byte) {
	if held := p.source.Held(); held != nil && held.Covers(bundle) {
		p.known.Store(true)
	}
	if err := p.source.Registered(ctx, bundle); err != nil && ctx.Err() == nil {
		p.log.Error(err, "Noting what callers know failed; it is tried again")
	}
}

// register keeps the registration until the context ends.
func (p *program) register(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	p.registrar.Run(ctx, ticker.C)
}

// newElection makes the election of the replica that writes.
func (p *program) newElection() (*leaderelection.LeaderElector, error) {
	config, err := clusterAt(p.Config.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = renewDeadline / 2
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	namespace, err := p.namespace(p.Config.LeaderElection.ResourceNamespace)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding the name of the machine: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, p.Config.LeaderElection.ResourceName, clients.CoreV1(), clients.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, fmt.Errorf("making a lease: %w", err)
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { p.lead(p.leads.begin(ctx)) },
			OnStoppedLeading: func() { p.lead(false) },
		},
	})
}

// elect takes part in elections until the context ends.
func (p *program) elect(ctx context.Context) {
	for ctx.Err() == nil {
		p.election.Run(logr.NewContext(ctx, p.log.WithName("election")))
	}
}

func (p *program) lead(is bool) {
	if p.led.Swap(is) != is {
		p.log.Info("Who writes the registration", "thisReplica", is)
	}
}
