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

// maxBackoff limits the time until a failed reconciliation is repeated.
const maxBackoff = 10 * time.Second

// leader and everyReplica say where a controller runs.
const (
	leader       = true
	everyReplica = false
)

// addController adds a controller that calls do once at its start, and when a source has an event. It fails if a watch
// cannot be started.
func addController(mgr manager.Manager, name string, needLeader bool, do reconcile.Func, sources ...source.Source) error {
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), maxBackoff)
	added, err := controller.New(name, mgr, controller.Options{Reconciler: withoutResult(do), NeedLeaderElection: &needLeader, RateLimiter: limiter})
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

// withoutResult omits the result of a failed reconciliation, which controller-runtime ignores with a warning.
func withoutResult(do reconcile.Func) reconcile.Func {
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := do(ctx, request)
		if err != nil {
			return reconcile.Result{}, err
		}
		return result, nil
	}
}

// once requests one reconciliation for any object.
var once = handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })

// onChange returns a source with an event for each change of an object of a kind.
func onChange(mgr manager.Manager, kind client.Object, when ...predicate.Predicate) source.Source {
	return source.Kind[client.Object](mgr.GetCache(), kind, once, when...)
}

// AddRegistrar runs the registrar in the leader: at its start, after a reload of the profiles, when the certificates or the
// registration itself change, and at its interval. It fails if a watch cannot be started.
func AddRegistrar(mgr manager.Manager, r *Registrar, store *Store) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return addController(mgr, "webhook-registration", leader, r.Reconcile,
		source.Channel(store.NotifyChanges(), once), source.Channel(r.Trust.changed, once),
		onChange(mgr, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		onChange(mgr, namespace, predicate.NewPredicateFuncs(func(o client.Object) bool {
			return o.GetName() == r.Endpoint.Namespace && o.GetDeletionTimestamp() != nil
		})))
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

// recordPeriod is the interval at which records of profiles are compared, in addition to those after a change.
const recordPeriod = 5 * time.Minute

// AddRecords makes the leader store and report the active versions of profiles, after each attempt to load them and
// periodically. It fails if a watch cannot be started.
func AddRecords(mgr manager.Manager, store *Store, lastGood *LastGood, reports *Reports) error {
	for name, record := range map[string]func(context.Context) error{"last-good-profiles": lastGood.Sync, "profile-reports": reports.Report} {
		if err := addController(mgr, name, leader, func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{RequeueAfter: recordPeriod}, record(ctx)
		}, source.Channel(store.NotifyChanges(), once)); err != nil {
			return err
		}
	}
	return nil
}
