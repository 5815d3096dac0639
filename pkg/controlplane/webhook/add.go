// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// AddRegistrar runs the registrar in the leader: at its start, after a reload of the profiles, when a CA Secret or the
// registration itself changes, and at its interval. It fails if a watch cannot be started.
func AddRegistrar(mgr manager.Manager, r *Registrar, changes <-chan struct{}) error {
	c, err := controller.New("webhook-registration", mgr, controller.Options{Reconciler: r, MaxConcurrentReconciles: 1})
	if err != nil {
		return fmt.Errorf("adding the registrar: %w", err)
	}
	request := reconcile.Request{NamespacedName: client.ObjectKey{Name: r.Endpoint.Name}}
	toRequest := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} }
	events := make(chan event.GenericEvent, 1)
	// One initial event starts the first comparison, even if nothing is watched yet.
	events <- event.GenericEvent{Object: &admissionregistrationv1.MutatingWebhookConfiguration{}}
	sources := []source.Source{
		source.Channel(events, handler.EnqueueRequestsFromMapFunc(toRequest)),
		source.Kind[client.Object](mgr.GetCache(), &admissionregistrationv1.MutatingWebhookConfiguration{}, handler.EnqueueRequestsFromMapFunc(toRequest)),
	}
	if r.OwnerNamespace != "" {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		own := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == r.OwnerNamespace && o.GetDeletionTimestamp() != nil })
		sources = append(sources, source.Kind[client.Object](mgr.GetCache(), namespace, handler.EnqueueRequestsFromMapFunc(toRequest), own))
	}
	if _, managed := r.Bundle.(secretBundle); managed {
		sources = append(sources, source.Kind[client.Object](mgr.GetCache(), &corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(toRequest)))
	}
	for _, from := range sources {
		if err := c.Watch(from); err != nil {
			return fmt.Errorf("watching for the registrar: %w", err)
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-changes:
			}
			select {
			case <-ctx.Done():
				return nil
			case events <- event.GenericEvent{Object: &admissionregistrationv1.MutatingWebhookConfiguration{}}:
			}
		}
	}))
}

// refreshPeriod is the interval of regular checks of callers and other installations. It makes up for a missed event
// well before yieldAfter.
const refreshPeriod = 10 * time.Second

// AddPeers updates callers and installations in every replica: when a CA Secret or a registration changes, and
// periodically. It fails if a watch cannot be started.
func AddPeers(ctx context.Context, mgr manager.Manager, callers *Callers, installations *Installations) error {
	wake := make(chan struct{}, 1)
	kinds := []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}}
	if _, managed := callers.Segments.(secretBundle); managed {
		kinds = append(kinds, &corev1.Secret{})
	}
	notify := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	for _, kind := range kinds {
		if err := onEvents(ctx, mgr, kind, notify); err != nil {
			return fmt.Errorf("watching for callers: %w", err)
		}
	}
	return mgr.Add(everywhere(func(ctx context.Context) error {
		ticker := time.NewTicker(refreshPeriod)
		defer ticker.Stop()
		for {
			if err := errors.Join(callers.Refresh(ctx), installations.Refresh(ctx)); err != nil && ctx.Err() == nil {
				logf.FromContext(ctx).Error(err, "Reading the path segments of the webhooks failed")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-wake:
			case <-ticker.C:
			}
		}
	}))
}

// everywhere is a runnable of every replica, not only of the leader.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// AddReloader reloads the profiles when they change. With watch, an informer reports changes of ConfigMaps at
// once. It fails if the watch cannot be started.
func AddReloader(ctx context.Context, mgr manager.Manager, store *Store, watch bool, readers ...ProfileReader) error {
	if watch {
		if err := onEvents(ctx, mgr, &corev1.ConfigMap{}, store.Wake); err != nil {
			return fmt.Errorf("watching ConfigMaps with profiles: %w", err)
		}
	}
	return mgr.Add(store.Reloader(readers...))
}

// onEvents calls a function in every replica when an object of a kind is created, changed or deleted.
func onEvents(ctx context.Context, mgr manager.Manager, kind client.Object, call func()) error {
	informer, err := mgr.GetCache().GetInformer(ctx, kind)
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { call() }, UpdateFunc: func(_, _ any) { call() }, DeleteFunc: func(any) { call() },
	})
	return err
}
