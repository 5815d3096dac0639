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

// bundleRetry is the time until a missing CA bundle is read again; its Secret is also watched.
const bundleRetry = time.Second

// Registrar maintains the MutatingWebhookConfiguration for the active program. It runs in the leader; Check
// runs in all replicas.
type Registrar struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Reader reads uncached objects from the API server.
	Reader client.Reader
	// Endpoint is the registered endpoint.
	Endpoint Endpoint
	// Bundle returns the CAs to trust.
	Bundle BundleReader
	// Segments returns the secret segments of the paths.
	Segments SegmentReader
	// Registrations returns the webhooks of the active program.
	Registrations func() []mutation.Registration
	// OwnerNamespace is the namespace that owns the registration, so that a removed extension does not block
	// control planes, or "".
	OwnerNamespace string
	// ManagedResource is the object that gardenlet or gardener-operator deletes first when it removes the
	// installation, or empty.
	ManagedResource client.ObjectKey
	// Installations knows the other installations in the cluster.
	Installations *Installations
	// ValidateProfiles also registers the Validator.
	ValidateProfiles bool
	// SyncPeriod is the interval of regular comparisons.
	SyncPeriod time.Duration
	Metrics    *Metrics
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
	bundle, err := r.Bundle.ReadBundle(ctx)
	if errors.Is(err, ErrNoBundle) {
		// Keep the registered bundle: an empty one would reject every admission.
		return reconcile.Result{RequeueAfter: bundleRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	segment, again, err := r.segment(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	desired := r.Endpoint.Configuration(r.Registrations(), bundle, segment)
	if desired.OwnerReferences, err = r.owner(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if written, err := r.write(ctx, desired); err != nil || !written {
		return reconcile.Result{RequeueAfter: bundleRetry}, err
	}
	if err := r.reconcileValidation(ctx, bundle, segment, desired.OwnerReferences); err != nil {
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
	result, err := controllerutil.CreateOrUpdate(ctx, uncached{r.Client, r.Reader}, current, func() error {
		if err := r.checkOwner(ctx, current); err != nil {
			return err
		}
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

// uncached is a client that reads from the API server: a registration is not cached if its label was removed.
type uncached struct {
	client.Client
	reader client.Reader
}

// Get reads an object from the API server.
func (u uncached) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return u.reader.Get(ctx, key, into, options...)
}

// checkOwner returns an error for a registration of another existing namespace, which is never overwritten.
func (r *Registrar) checkOwner(ctx context.Context, current *admissionregistrationv1.MutatingWebhookConfiguration) error {
	r.Metrics.refused.Set(0)
	owner := ownerOf(current)
	if owner == "" || owner == r.OwnerNamespace {
		return nil
	}
	namespace, err := liveNamespace(ctx, r.Reader, owner)
	if err != nil || namespace == nil {
		return err
	}
	r.Metrics.refused.Set(1)
	return fmt.Errorf("the registration %s belongs to the installation in the namespace %s: remove that one, or install this one in a namespace of its own",
		current.Name, owner)
}

// ownerOf returns the namespace of the installation that wrote a registration. A program outside the cluster has only
// the owner.
func ownerOf(c *admissionregistrationv1.MutatingWebhookConfiguration) string {
	if name := c.Labels[NamespaceLabel]; name != "" {
		return name
	}
	for _, owner := range c.OwnerReferences {
		if owner.Kind == "Namespace" {
			return owner.Name
		}
	}
	return ""
}

// segment returns the segment to register, and the time until the next selection. A new segment is registered
// after every replica has had the time to notice it.
func (r *Registrar) segment(ctx context.Context) (string, time.Duration, error) {
	segments, err := r.Segments.ReadSegments(ctx)
	if err != nil {
		return "", 0, fmt.Errorf("reading the path segments: %w", err)
	}
	for _, segment := range segments {
		if r.Clock.Since(segment.Since) >= settle {
			if segment == segments[0] {
				return segment.Value, r.SyncPeriod, nil
			}
			return segment.Value, settle, nil
		}
	}
	return segments[len(segments)-1].Value, settle, nil
}

// owner returns the ClusterRole of the installation. It is deleted with the Deployment and the Service; then the
// garbage collector deletes the registration, because the program no longer has the permission. Without a ClusterRole,
// it returns the namespace.
func (r *Registrar) owner(ctx context.Context) ([]metav1.OwnerReference, error) {
	if r.OwnerNamespace == "" {
		return nil, nil
	}
	role := &metav1.PartialObjectMetadata{}
	role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	err := r.Reader.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, role)
	if err == nil && role.DeletionTimestamp == nil {
		return ownedBy(role), nil
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("reading the owner of the registration: %w", err)
	}
	// Read metadata only, as the facts do, so that they share an informer.
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.OwnerNamespace}, namespace); err != nil {
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

// Check returns an error for /readyz if the API server would not call this program. The leader requires every
// webhook of its program. Other replicas require none: they may know newer profiles than the leader, and must
// become ready for a rolling update to replace it. Check ignores CAs and path segments: all replicas know new
// ones before they are registered, and must stay ready during a rotation; see Registered.
func (r *Registrar) Check(ctx context.Context, leads bool) error {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current); err != nil {
		return fmt.Errorf("reading the registration: %w", err)
	}
	if owner := ownerOf(current); owner != "" && owner != r.OwnerNamespace {
		return fmt.Errorf("the registration %s belongs to the installation in the namespace %s", current.Name, owner)
	}
	desired := r.Endpoint.Configuration(r.Registrations(), nil, "")
	if leads && !equality.Semantic.DeepEqual(withoutSecrets(current.Webhooks), withoutSecrets(desired.Webhooks)) {
		return errors.New("the registration does not match the active profiles yet")
	}
	return nil
}

// withoutSecrets returns the webhooks without rotated values: CAs and path segments.
func withoutSecrets(webhooks []admissionregistrationv1.MutatingWebhook) []admissionregistrationv1.MutatingWebhook {
	webhooks = slices.Clone(webhooks)
	for i := range webhooks {
		config := webhooks[i].ClientConfig.DeepCopy()
		config.CABundle = nil
		path := pathOf(&webhooks[i])
		_, rest := splitPath(path)
		if config.Service != nil {
			config.Service.Path = &rest
		} else if config.URL != nil {
			config.URL = ptr.To(strings.TrimSuffix(*config.URL, path) + rest)
		}
		webhooks[i].ClientConfig = *config
	}
	return webhooks
}

// Registered returns the CAs in the current registration, instead of the future ones. One of them must have
// signed the served certificate.
func (r *Registrar) Registered() BundleReader { return registeredBundle{r} }

type registeredBundle struct{ *Registrar }

// ReadBundle returns the bundle in the registration, or the future one if no webhook is registered. It fails if the
// registration cannot be read.
func (r registeredBundle) ReadBundle(ctx context.Context) ([]byte, error) {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current); err != nil {
		return nil, fmt.Errorf("reading the registration: %w", err)
	}
	if len(current.Webhooks) == 0 {
		return r.Bundle.ReadBundle(ctx)
	}
	return current.Webhooks[0].ClientConfig.CABundle, nil
}

// Covers reports whether the active profiles have rules for a namespace with these labels. If so, it returns an
// error that lists the webhooks that are not registered correctly. Like Check, it ignores CAs and segments.
func (r *Registrar) Covers(ctx context.Context, namespace map[string]string) (bool, error) {
	registrations := slices.Clone(r.Registrations())
	registrations = slices.DeleteFunc(registrations, func(registration mutation.Registration) bool { return !selects(registration, namespace) })
	if len(registrations) == 0 {
		return false, nil
	}
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current); err != nil {
		return true, fmt.Errorf("reading the registration: %w", err)
	}
	var missing []string
	there := withoutSecrets(current.Webhooks)
	for _, desired := range withoutSecrets(r.Endpoint.Configuration(registrations, nil, "").Webhooks) {
		if !slices.ContainsFunc(there, func(w admissionregistrationv1.MutatingWebhook) bool { return equality.Semantic.DeepEqual(w, desired) }) {
			missing = append(missing, desired.Name)
		}
	}
	if len(missing) > 0 {
		return true, fmt.Errorf("not registered, or not as the active profiles require: %s", strings.Join(missing, ", "))
	}
	return true, nil
}

// selects reports whether the API server calls the webhook of a registration for a namespace with these labels.
func selects(r mutation.Registration, namespace map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(namespaceSelector(r))
	return err == nil && selector.Matches(labels.Set(namespace))
}
