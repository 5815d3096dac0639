// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// AddRegistrar runs the registrar in the leader: at its start, after a reload of the profiles, when a CA Secret or the
// registration itself changes, and at its interval.
func AddRegistrar(mgr manager.Manager, r *Registrar, changes <-chan struct{}) error {
	c, err := controller.New("webhook-registration", mgr, controller.Options{Reconciler: r, MaxConcurrentReconciles: 1})
	if err != nil {
		return fmt.Errorf("adding the registrar: %w", err)
	}
	request := reconcile.Request{NamespacedName: client.ObjectKey{Name: r.Endpoint.Name}}
	toRequest := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} }
	events := make(chan event.GenericEvent, 1)
	// One event that is always there starts the first comparison, also where there is nothing to watch yet.
	events <- event.GenericEvent{Object: &admissionregistrationv1.MutatingWebhookConfiguration{}}
	sources := []source.Source{
		source.Channel(events, handler.EnqueueRequestsFromMapFunc(toRequest)),
		source.Kind[client.Object](mgr.GetCache(), &admissionregistrationv1.MutatingWebhookConfiguration{}, handler.EnqueueRequestsFromMapFunc(toRequest)),
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

// AddReloader loads the profiles again when they change; with watch, changes of ConfigMaps are noticed by an informer at once.
func AddReloader(ctx context.Context, mgr manager.Manager, store *Store, watch bool, readers ...ProfileReader) error {
	if watch {
		informer, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
		if err != nil {
			return fmt.Errorf("watching ConfigMaps with profiles: %w", err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { store.Wake() },
			UpdateFunc: func(_, _ any) { store.Wake() },
			DeleteFunc: func(any) { store.Wake() },
		}); err != nil {
			return fmt.Errorf("watching ConfigMaps with profiles: %w", err)
		}
	}
	return mgr.Add(store.Reloader(readers...))
}
