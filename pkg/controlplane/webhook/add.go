// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gardener/gardener/pkg/controllerutils"
)

// leader and everyReplica say where a controller runs.
const (
	leader       = true
	everyReplica = false
)

// addController adds a controller that calls do once at its start, and when a source has an event. It fails if a watch
// cannot be started.
func addController(mgr manager.Manager, name string, needLeader bool, do reconcile.Func, sources ...source.Source) error {
	added, err := controller.New(name, mgr, controller.Options{Reconciler: do, NeedLeaderElection: &needLeader})
	if err != nil {
		return fmt.Errorf("adding the controller %s: %w", name, err)
	}
	for _, from := range append(sources, controllerutils.EnqueueOnce) {
		if err := added.Watch(from); err != nil {
			return fmt.Errorf("watching for the controller %s: %w", name, err)
		}
	}
	return nil
}

// onChange returns a source with an event for each change of an object of a kind.
func onChange(mgr manager.Manager, kind client.Object, when ...predicate.Predicate) source.Source {
	once := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	return source.Kind[client.Object](mgr.GetCache(), kind, once, when...)
}

// AddRegistrar runs the registrar in the leader: at its start, after a reload of the profiles, when a CA Secret or the
// registration itself changes, and at its interval. It fails if a watch cannot be started.
func AddRegistrar(mgr manager.Manager, r *Registrar, changes <-chan struct{}) error {
	reloads := source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-changes:
					queue.Add(reconcile.Request{})
				}
			}
		}()
		return nil
	})
	sources := []source.Source{reloads, onChange(mgr, &admissionregistrationv1.MutatingWebhookConfiguration{})}
	if r.OwnerNamespace != "" {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		sources = append(sources, onChange(mgr, namespace, predicate.NewPredicateFuncs(func(o client.Object) bool {
			return o.GetName() == r.OwnerNamespace && o.GetDeletionTimestamp() != nil
		})))
	}
	if _, managed := r.Bundle.(secretBundle); managed {
		sources = append(sources, onChange(mgr, &corev1.Secret{}))
	}
	return addController(mgr, "webhook-registration", leader, r.Reconcile, sources...)
}

// refreshPeriod is the interval of regular checks of other installations. It makes up for a missed event well before
// yieldAfter.
const refreshPeriod = 10 * time.Second

// AddInstallations updates the installations in every replica: when a registration changes, and periodically. It fails
// if a watch cannot be started.
func AddInstallations(mgr manager.Manager, installations *Installations) error {
	return addController(mgr, "webhook-installations", everyReplica, func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: refreshPeriod}, installations.Refresh(ctx)
	}, onChange(mgr, &admissionregistrationv1.MutatingWebhookConfiguration{}))
}

// AddReloader reloads the profiles when they change. With watch, an informer reports changes of ConfigMaps at
// once. It fails if the watch cannot be started.
func AddReloader(ctx context.Context, mgr manager.Manager, store *Store, watch bool, readers ...ProfileReader) error {
	if watch {
		informer, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { store.Wake() }, UpdateFunc: func(_, _ any) { store.Wake() }, DeleteFunc: func(any) { store.Wake() },
			})
		}
		if err != nil {
			return fmt.Errorf("watching ConfigMaps with profiles: %w", err)
		}
	}
	return mgr.Add(store.Reloader(readers...))
}
