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

// managedResourceKind is the kind by which Gardener installs an extension.
var managedResourceKind = schema.GroupVersionKind{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource"}

// managedResource returns an empty object for the metadata of a ManagedResource.
func managedResource() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(managedResourceKind)
	return object
}

// followManaged has every replica notice the deletion of the ManagedResource, which comes before the deletion of the permissions to read
// it. It returns the cache of that one object, or nil in a cluster that has no such kind, where Gardener has installed nothing.
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

// uninstalling reports whether the installation is being removed: its namespace is being deleted, or its ManagedResource, with which the
// deletion of a ControllerInstallation begins (gardener: pkg/gardenlet/controller/controllerinstallation). A restart, an eviction or an
// upgrade deletes neither. It needs no cache, so that a program can ask which ends before its caches are filled.
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

// Withdraw deletes the registrations if the installation is being removed, so that no API server calls Pods that are gone. It is for a
// program that ends.
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

// withdraw deletes the registrations once. When the permissions are gone already, the garbage collector deletes them with their owner.
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

// deleteRegistrations deletes the registration of the webhooks and that of the validation. Where another installation may take over, it
// announces the deletion first and returns when to continue.
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

// announce tells other installations, where there are any, that the registration is about to be deleted, and returns how long they are
// given to notice.
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
