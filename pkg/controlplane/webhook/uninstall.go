// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// managedResourceKind is the kind with which Gardener installs an extension.
var managedResourceKind = schema.GroupVersionKind{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource"}

// managedResource returns an empty object for the metadata of a ManagedResource.
func managedResource() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(managedResourceKind)
	return object
}

// followManaged makes every replica notice the deletion of the ManagedResource, which precedes the deletion of
// the permissions to read it. It returns the cache of that object, or nil if the cluster does not have the
// kind, because Gardener installed nothing there.
func (r *Registrar) followManaged(ctx context.Context, mgr manager.Manager) (cache.Cache, error) {
	if _, err := mgr.GetRESTMapper().RESTMapping(managedResourceKind.GroupKind(), managedResourceKind.Version); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("looking for the kind ManagedResource: %w", err)
	}
	managed, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces:    map[string]cache.Config{r.ManagedResource.Namespace: {}},
		DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, r.ManagedResource.Name),
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of the ManagedResource: %w", err)
	}
	r.followsManaged = true
	informer, err := managed.GetInformer(ctx, managedResource())
	if err != nil {
		return nil, fmt.Errorf("watching the ManagedResource: %w", err)
	}
	noticed := func(object any) {
		if o, ok := object.(client.Object); ok && o.GetDeletionTimestamp() != nil {
			r.removed.Store(true)
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: noticed, UpdateFunc: func(_, object any) { noticed(object) },
	}); err != nil {
		return nil, fmt.Errorf("watching the ManagedResource: %w", err)
	}
	return managed, mgr.Add(managed)
}

// Uninstalling reports whether the installation is known to be removed.
func (r *Registrar) Uninstalling(ctx context.Context) bool {
	removed, err := r.uninstalling(ctx)
	return err == nil && removed
}

// uninstalling reports whether the installation is being removed: its namespace, or its ManagedResource, with
// which the deletion of a ControllerInstallation begins, is being deleted (gardener:
// pkg/gardenlet/controller/controllerinstallation). A restart, an eviction or an upgrade deletes neither. It
// needs no cache, so that a program that stops before its caches are filled can call it.
func (r *Registrar) uninstalling(ctx context.Context) (bool, error) {
	if r.OwnerNamespace == "" || r.removed.Load() {
		return r.removed.Load(), nil
	}
	namespace, err := liveNamespace(ctx, r.Reader, r.OwnerNamespace)
	if err != nil {
		return false, err
	}
	removed := namespace == nil
	if !removed && r.followsManaged {
		managed := managedResource()
		err := r.Reader.Get(ctx, r.ManagedResource, managed)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("reading the ManagedResource of the installation: %w", err)
		}
		removed = err == nil && managed.DeletionTimestamp != nil
	}
	if removed {
		r.removed.Store(true)
	}
	return removed, nil
}

// Withdraw deletes the registrations at shutdown if the installation is being removed, so that no API server
// calls missing Pods.
func (r *Registrar) Withdraw(ctx context.Context) error {
	removed, err := r.uninstalling(ctx)
	if err != nil || !removed {
		return err
	}
	for {
		result, err := r.withdraw(ctx)
		if err != nil || result.RequeueAfter == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(result.RequeueAfter):
		}
	}
}

// withdraw deletes the registrations once. Without permissions, it leaves them to the garbage collector, which
// deletes them with their owner.
func (r *Registrar) withdraw(ctx context.Context) (reconcile.Result, error) {
	if r.withdrawn.Load() {
		return reconcile.Result{}, nil
	}
	log := logf.FromContext(ctx)
	again, err := r.deleteRegistrations(ctx)
	switch {
	case apierrors.IsForbidden(err):
		log.Info("The installation is being removed, and its permissions are gone; its registrations are deleted with their owner")
	case err != nil || again > 0:
		return reconcile.Result{RequeueAfter: again}, err
	default:
		log.Info("Removed the registrations, as the installation is being removed", "configuration", r.Endpoint.Name)
	}
	r.withdrawn.Store(true)
	return reconcile.Result{}, nil
}

// deleteRegistrations deletes the registrations of the webhooks and of the validation. If another installation
// may take over, it announces the deletion first and returns the time to wait.
func (r *Registrar) deleteRegistrations(ctx context.Context) (again time.Duration, err error) {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err = r.Reader.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return 0, fmt.Errorf("reading the registration: %w", err)
	case ownerOf(current) != r.OwnerNamespace:
		return 0, nil
	default:
		if again, err := r.announce(ctx, current); err != nil || again > 0 {
			return again, err
		}
		if err := r.Client.Delete(ctx, current, client.Preconditions{UID: &current.UID}); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting the registration: %w", err)
		}
	}
	validation := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: r.Endpoint.Name}}
	if err := r.Client.Delete(ctx, validation); client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("deleting the registration of the validation: %w", err)
	}
	return 0, nil
}

// announce announces the deletion to other installations, if there are any, and returns the time to wait.
func (r *Registrar) announce(ctx context.Context, current *admissionregistrationv1.MutatingWebhookConfiguration) (time.Duration, error) {
	others, err := r.Installations.others(ctx, r.Reader)
	if err != nil || len(others) == 0 || current.Annotations[ServesAnnotation] == "" {
		return 0, err
	}
	delete(current.Annotations, ServesAnnotation)
	if err := r.Client.Update(ctx, current); err != nil && !apierrors.IsConflict(err) {
		return 0, fmt.Errorf("announcing that the registration is deleted: %w", err)
	}
	return 2 * bundleRetry, nil
}
