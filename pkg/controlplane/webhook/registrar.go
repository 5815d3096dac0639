// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// conflictRetry is the time until a registration that another writer has changed is compared again; it is also watched.
const conflictRetry = time.Second

// Registrar maintains the MutatingWebhookConfiguration for the active program. It runs in the leader; Check
// runs in all replicas.
type Registrar struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Direct reads uncached objects from the API server, and writes the registration, which is not cached if its label was
	// removed.
	Direct client.Client
	// Endpoint is the registered endpoint. Its name has the namespace, so that no other installation has the registration.
	Endpoint Endpoint
	// Trust has the CAs to trust and the secret segments of the paths.
	Trust *Trust
	// Registrations returns the webhooks of the active program.
	Registrations func() []mutation.Registration
	// ManagedResource is the object that gardenlet or gardener-operator deletes first when it removes the
	// installation, or empty.
	ManagedResource client.ObjectKey
	// Installations knows the other installations in the cluster.
	Installations *Installations
	// ValidateProfiles also registers the Validator.
	ValidateProfiles bool
	// SyncPeriod is the interval of regular comparisons.
	SyncPeriod time.Duration
	Clock      clock.PassiveClock

	// removed is set, permanently, when the installation is being removed, and forbidden when it then lacks the
	// permissions to delete its registrations. withdrawn is the time at which they were deleted.
	removed, forbidden atomic.Bool
	withdrawn          atomic.Pointer[time.Time]
	withdrawing        singleflight.Group
}

// Reconcile registers the webhooks, or deletes their registrations with the installation. A write has the
// compared resourceVersion, so that concurrent writers do not overwrite each other unnoticed. It fails if the API
// server rejects a read or a write; the caller retries.
func (r *Registrar) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if removed, err := r.uninstalling(ctx); err != nil {
		return reconcile.Result{}, err
	} else if removed {
		return reconcile.Result{}, r.Withdraw(ctx)
	}
	result, err := r.register(ctx)
	if apierrors.IsForbidden(err) && r.removed.Load() {
		return reconcile.Result{}, r.Withdraw(ctx) // the removal began after the check
	}
	return result, err
}

// register compares the registration and writes it.
func (r *Registrar) register(ctx context.Context) (reconcile.Result, error) {
	bundle := r.Trust.bundle()
	segment, again := r.segment()
	desired := r.Endpoint.Configuration(r.Registrations(), bundle, segment)
	owners, err := r.owners(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	desired.OwnerReferences = owners
	if written, err := r.write(ctx, desired); err != nil || !written {
		return reconcile.Result{RequeueAfter: conflictRetry}, err
	}
	if err := r.reconcileValidation(ctx, bundle, segment, owners); err != nil {
		// Loading a profile also finds its errors, so that the webhooks of control planes do not wait for the
		// validation.
		logf.FromContext(ctx).Error(err, "Registering the validation of profiles failed: ConfigMaps with profiles are written without validation until a retry succeeds")
	}
	return reconcile.Result{RequeueAfter: min(again, r.SyncPeriod)}, nil
}

// write creates or updates the registration. It keeps additional labels and annotations. It returns false if another
// writer was faster; the next event triggers another comparison.
func (r *Registrar) write(ctx context.Context, desired *admissionregistrationv1.MutatingWebhookConfiguration) (bool, error) {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: desired.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Direct, current, func() error {
		current.Labels, current.Annotations = labels.Merge(current.Labels, desired.Labels), labels.Merge(current.Annotations, desired.Annotations)
		current.OwnerReferences, current.Webhooks = desired.OwnerReferences, desired.Webhooks
		return nil
	})
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("writing the registration: %w", err)
	case result != controllerutil.OperationResultNone:
		logf.FromContext(ctx).Info("Registered the webhooks", "configuration", desired.Name, "webhooks", names(desired.Webhooks))
	}
	return true, nil
}

// segment returns the segment to register, and the time until the next selection. A new segment is registered
// after every replica has had the time to notice it.
func (r *Registrar) segment() (string, time.Duration) {
	segments := r.Trust.Segments()
	for _, segment := range segments {
		if r.Clock.Since(segment.Since) >= settle {
			if segment == segments[0] {
				return segment.Value, r.SyncPeriod
			}
			return segment.Value, settle
		}
	}
	return segments[len(segments)-1].Value, settle
}

// owners returns the ClusterRole of the installation. It is deleted with the Deployment and the Service; then the
// garbage collector deletes the registration, because the program no longer has the permission. Without a ClusterRole,
// it returns the namespace.
func (r *Registrar) owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	role := &metav1.PartialObjectMetadata{}
	role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	err := r.Direct.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, role)
	if err == nil && role.DeletionTimestamp == nil {
		return ownedBy(role), nil
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("reading the owner of the registration: %w", err)
	}
	// Read metadata only, as the facts do, so that they share an informer.
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Namespace}, namespace); err != nil {
		return nil, fmt.Errorf("reading the owner of the registration: %w", err)
	}
	return ownedBy(namespace), nil
}

func ownedBy(object *metav1.PartialObjectMetadata) []metav1.OwnerReference {
	owner := metav1.NewControllerRef(object, object.GroupVersionKind())
	owner.BlockOwnerDeletion = ptr.To(false)
	return []metav1.OwnerReference{*owner}
}

func names(webhooks []admissionregistrationv1.MutatingWebhook) []string {
	out := make([]string, len(webhooks))
	for i := range webhooks {
		out[i] = webhooks[i].Name
	}
	return out
}

// current reads the registration from the cache, and returns the desired one for the registrations with the same CAs and
// path segment. All replicas know new ones before they are registered, so that the rest can be compared during a rotation.
func (r *Registrar) current(
	ctx context.Context, registrations []mutation.Registration,
) (current, desired *admissionregistrationv1.MutatingWebhookConfiguration, err error) {
	current = &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current); err != nil {
		return nil, nil, fmt.Errorf("reading the registration: %w", err)
	}
	var bundle []byte
	var segment string
	if len(current.Webhooks) > 0 {
		bundle = current.Webhooks[0].ClientConfig.CABundle
		segment, _ = splitPath(pathOf(&current.Webhooks[0]))
	}
	return current, r.Endpoint.Configuration(registrations, bundle, segment), nil
}

// Check returns an error for /readyz if the API server would not call this program. The leader requires every
// webhook of its program. Other replicas require none: they may know newer profiles than the leader, and must
// become ready for a rolling update to replace it. Check accepts any CAs and path segment that all webhooks have; see
// RegisteredBundle.
func (r *Registrar) Check(ctx context.Context, leads bool) error {
	current, desired, err := r.current(ctx, r.Registrations())
	if err != nil {
		return err
	}
	if leads && !equality.Semantic.DeepEqual(current.Webhooks, desired.Webhooks) {
		return errors.New("the registration does not match the active profiles yet")
	}
	return nil
}

// RegisteredBundle returns the CAs in the current registration, or the future ones if no webhook is registered. One of
// them must have signed the served certificate. It fails if the registration cannot be read.
func (r *Registrar) RegisteredBundle(ctx context.Context) ([]byte, error) {
	current, _, err := r.current(ctx, nil)
	if err != nil {
		return nil, err
	}
	if len(current.Webhooks) == 0 {
		return r.Trust.bundle(), nil
	}
	return current.Webhooks[0].ClientConfig.CABundle, nil
}

// Covers reports whether the active profiles have rules for a namespace with these labels. If so, it returns an
// error that lists the webhooks that are not registered correctly. Like Check, it accepts any common CAs and segment.
func (r *Registrar) Covers(ctx context.Context, namespace map[string]string) (bool, error) {
	registrations := slices.DeleteFunc(slices.Clone(r.Registrations()), func(r mutation.Registration) bool { return !selects(r, namespace) })
	if len(registrations) == 0 {
		return false, nil
	}
	current, desired, err := r.current(ctx, registrations)
	if err != nil {
		return true, err
	}
	missing := slices.DeleteFunc(desired.Webhooks, func(wanted admissionregistrationv1.MutatingWebhook) bool {
		return slices.ContainsFunc(current.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return equality.Semantic.DeepEqual(w, wanted) })
	})
	if len(missing) > 0 {
		return true, fmt.Errorf("not registered, or not as the active profiles require: %s", strings.Join(names(missing), ", "))
	}
	return true, nil
}
