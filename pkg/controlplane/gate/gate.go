// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package gate makes gardenlet wait for the webhooks. gardenlet creates an Extension resource of one type in each
// shoot's namespace before it writes the kube-apiserver; the gate sets its status once the webhooks for that control
// plane are installed (docs/decisions/0014-a-gate-without-finalizers.md).
//
// Its caller tells it whether webhooks are installed. It owns nothing in the namespace and has no finalizer, so that
// deletions, forced or not, need no response. It must not use Gardener's library of controllers, which reads whole
// Clusters. Start reading at Gate and Add.
package gate

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	v1beta1helper "github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	extensionsv1alpha1helper "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1/helper"
)

// retry is the interval between checks of a closed gate. gardenlet checks every five seconds, and gives up after half a
// minute (gardener: pkg/component/extensions/extension/extension.go, DefaultInterval and DefaultSevereThreshold).
const retry = 2 * time.Second

// Gate answers the Extension resources of a type.
type Gate struct {
	// Type is the type and the name of the Extensions: gardenlet names an Extension after its type (gardener:
	// pkg/component/shared/extension.go, mergeExtensions).
	Type string
	// Extensions reads the Extensions from a cache.
	Extensions client.Reader
	// Namespaces reads the metadata of namespaces from kube-apiserver: an outdated cache without the current labels
	// could open the gate of a control plane too early.
	Namespaces client.Reader
	// Writer writes the status, and removes the annotation of the request.
	Writer client.Client
	// Serve returns the reason why the control plane in a namespace would not be mutated yet. It returns nil if it would
	// be mutated, or need not be.
	Serve func(ctx context.Context, namespace metav1.Object) error
	// Clock provides the times in the status.
	Clock clock.PassiveClock
}

// Reconcile sets the status of one Extension if gardenlet waits for it. Missing webhooks are not an error, because the
// controller would increase the time between retries.
func (g *Gate) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	extension := &extensionsv1alpha1.Extension{}
	if err := g.Extensions.Get(ctx, request.NamespacedName, extension); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading the Extension: %w", err)
	}
	if !g.concerns(extension) || !waits(extension) {
		return reconcile.Result{}, nil
	}
	operation := v1beta1helper.ComputeOperationType(extension.ObjectMeta, extension.Status.LastOperation)
	var problem string
	if operation != gardencorev1beta1.LastOperationTypeMigrate {
		problem = g.check(ctx, extension.Namespace)
	}
	err := g.answer(ctx, extension, operation, problem)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		// gardenlet has changed the object since it was cached.
		return reconcile.Result{RequeueAfter: retry}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("answering the Extension: %w", err)
	case problem != "":
		return reconcile.Result{RequeueAfter: retry}, nil
	}
	return reconcile.Result{}, nil
}

// concerns reports whether an Extension belongs to a shoot and has the gate's type.
func (g *Gate) concerns(e *extensionsv1alpha1.Extension) bool {
	class := extensionsv1alpha1helper.GetExtensionClassOrDefault(e.Spec.Class)
	return e.Spec.Type == g.Type && class == extensionsv1alpha1.ExtensionClassShoot
}

// waits reports whether gardenlet needs a response: it has requested one, or the last one was not successful.
func waits(e *extensionsv1alpha1.Extension) bool {
	if e.DeletionTimestamp != nil {
		return false // there is nothing to take away, and no finalizer that would wait for it
	}
	switch e.Annotations[v1beta1constants.GardenerOperation] {
	case v1beta1constants.GardenerOperationReconcile, v1beta1constants.GardenerOperationRestore, v1beta1constants.GardenerOperationMigrate:
		return true
	case v1beta1constants.GardenerOperationWaitForState:
		return false
	}
	last := e.Status.LastOperation
	return last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded
}

// check returns a description of the missing webhooks for the control plane in a namespace, or an empty string.
func (g *Gate) check(ctx context.Context, name string) string {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := g.Namespaces.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return "reading the namespace: " + err.Error()
	}
	if err := g.Serve(ctx, namespace); err != nil {
		return err.Error()
	}
	return ""
}

// answer writes the status, and after a success removes the annotation of gardenlet's request. gardenlet waits for
// both; in this order it cannot mistake an old success for a new one. Each write fails if the object was changed after
// it was read.
func (g *Gate) answer(ctx context.Context, e *extensionsv1alpha1.Extension, operation gardencorev1beta1.LastOperationType, problem string) error {
	before := e.DeepCopy()
	e.Status.ObservedGeneration = e.Generation
	g.write(&e.Status, operation, problem)
	if problem == "" || !sameExceptTimes(before.Status, e.Status) {
		if err := g.Writer.Status().Patch(ctx, e, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
		logf.FromContext(ctx).Info("Answered gardenlet", "operation", operation, "state", e.Status.LastOperation.State, "description", e.Status.LastOperation.Description)
	}
	if _, asked := e.Annotations[v1beta1constants.GardenerOperation]; problem != "" || !asked {
		return nil
	}
	before = e.DeepCopy()
	delete(e.Annotations, v1beta1constants.GardenerOperation)
	return g.Writer.Patch(ctx, e, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (g *Gate) write(status *extensionsv1alpha1.ExtensionStatus, operation gardencorev1beta1.LastOperationType, problem string) {
	now := metav1.NewTime(g.Clock.Now())
	last := &gardencorev1beta1.LastOperation{Type: operation, LastUpdateTime: now}
	status.LastOperation, status.LastError = last, nil
	if problem == "" {
		last.State, last.Progress = gardencorev1beta1.LastOperationStateSucceeded, 100
		last.Description = "All webhooks for this control plane are registered"
		return
	}
	last.State, last.Progress = gardencorev1beta1.LastOperationStateError, 50
	last.Description = "The webhooks for this control plane are not ready: " + problem
	status.LastError = &gardencorev1beta1.LastError{Description: last.Description, LastUpdateTime: &now}
}

// sameExceptTimes reports whether two statuses are equal except for their times.
func sameExceptTimes(a, b extensionsv1alpha1.ExtensionStatus) bool {
	if a.LastOperation == nil || a.LastError == nil || a.ObservedGeneration != b.ObservedGeneration {
		return false
	}
	return a.LastOperation.Type == b.LastOperation.Type && a.LastOperation.State == b.LastOperation.State && a.LastError.Description == b.LastError.Description
}

// Add runs the gate in the leader with a cache of the Extensions with its name only: at most one per namespace. The
// custom resource definition may be created later. It fails if the cache or the watch cannot be added.
func Add(mgr manager.Manager, g *Gate) error {
	extensions, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, g.Type),
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return fmt.Errorf("making the cache of Extensions: %w", err)
	}
	if err := mgr.Add(extensions); err != nil {
		return fmt.Errorf("adding the cache of Extensions: %w", err)
	}
	g.Extensions = extensions
	c, err := controller.New("gate", mgr, controller.Options{Reconciler: g, MaxConcurrentReconciles: 5})
	if err != nil {
		return fmt.Errorf("adding the gate: %w", err)
	}
	if err := c.Watch(source.Kind(extensions, &extensionsv1alpha1.Extension{}, &handler.TypedEnqueueRequestForObject[*extensionsv1alpha1.Extension]{})); err != nil {
		return fmt.Errorf("watching Extensions: %w", err)
	}
	return nil
}
