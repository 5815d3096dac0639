// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// bundleRetry is how soon a missing CA bundle is looked for again; its Secret is watched as well.
const bundleRetry = time.Second

// Registrar keeps the MutatingWebhookConfiguration as the program in force needs it. It runs in the leader; Check runs in all
// replicas.
type Registrar struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Reader asks the API server, for what no cache holds.
	Reader client.Reader
	// Endpoint is what is registered.
	Endpoint Endpoint
	// Bundle is the CAs to trust.
	Bundle BundleReader
	// Segments are the secrets of the paths.
	Segments SegmentReader
	// Registrations are those of the program in force.
	Registrations func() []mutation.Registration
	// OwnerNamespace is the namespace with which the registration is to vanish, so that an extension that is gone does not
	// hold up control planes; empty for none.
	OwnerNamespace string
	// ManagedResource is what gardenlet or gardener-operator deletes first when it removes the installation; empty for none.
	ManagedResource client.ObjectKey
	// Installations are the others in the cluster.
	Installations *Installations
	// ValidateProfiles registers the Validator too.
	ValidateProfiles bool
	// SyncPeriod is how often it is compared without a reason.
	SyncPeriod time.Duration
	Metrics    *Metrics
	Clock      clock.PassiveClock

	// followsManaged reports that the cluster has ManagedResources.
	followsManaged bool
	// removed is set when the removal of the installation is noticed, which cannot be undone; withdrawn, when its registrations are deleted.
	removed, withdrawn atomic.Bool
	// rolled is since when the Deployment has no older replicas.
	rolled time.Time
}

// Reconcile registers the webhooks, or removes their registrations with the installation. A write carries the resource version that was
// compared, so that two writers cannot undo each other unnoticed.
func (r *Registrar) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if removed, err := r.uninstalling(ctx); err != nil || removed {
		if err == nil {
			return r.withdraw(ctx)
		}
		return reconcile.Result{}, err
	}
	result, err := r.register(ctx)
	if apierrors.IsForbidden(err) && r.removed.Load() {
		return r.withdraw(ctx) // the removal began after it was looked for
	}
	return result, err
}

// register compares the registration and writes it.
func (r *Registrar) register(ctx context.Context) (reconcile.Result, error) {
	bundle, err := r.Bundle.ReadBundle(ctx)
	if errors.Is(err, ErrNoBundle) {
		// What is registered keeps its bundle: an empty one would turn every admission away.
		return reconcile.Result{RequeueAfter: bundleRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	earlier, err := r.earlier(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	segment, again, err := r.segment(ctx, earlier)
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
		// What is wrong with a profile is also found when it is loaded; the webhooks of control planes do not wait for it.
		logf.FromContext(ctx).Error(err, "ConfigMaps of profiles are not validated when they are written")
	}
	if earlier != nil && segment != "" {
		if err := r.Client.Delete(ctx, earlier, client.Preconditions{UID: &earlier.UID}); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("deleting the registration of an earlier version: %w", err)
		}
		logf.FromContext(ctx).Info("Removed the registration of an earlier version", "configuration", earlier.Name)
	}
	return reconcile.Result{RequeueAfter: min(again, r.SyncPeriod)}, nil
}

// write creates or updates the registration; false when the cache is behind, and the event that it waits for comes with the next look.
func (r *Registrar) write(ctx context.Context, desired *admissionregistrationv1.MutatingWebhookConfiguration) (bool, error) {
	current, err := r.current(ctx)
	switch {
	case apierrors.IsNotFound(err):
		err = r.Client.Create(ctx, desired)
	case err != nil:
		return false, fmt.Errorf("reading the registration: %w", err)
	default:
		if err := r.ours(ctx, current); err != nil {
			return false, err
		}
		if upToDate(current, desired) {
			return true, nil
		}
		err = r.Client.Update(ctx, merge(current, desired))
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing the registration: %w", err)
	}
	logf.FromContext(ctx).Info("Registered the webhooks", "configuration", desired.Name, "webhooks", names(desired.Webhooks))
	return true, nil
}

// current reads the registration: where the cache has none, from the API server, since somebody may have removed the label by which it is cached.
func (r *Registrar) current(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current)
	if apierrors.IsNotFound(err) {
		err = r.Reader.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current)
	}
	return current, err
}

// ours returns an error for a registration that belongs to another namespace which exists: it is never overwritten.
func (r *Registrar) ours(ctx context.Context, current *admissionregistrationv1.MutatingWebhookConfiguration) error {
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

// ownerOf returns the namespace of the installation that wrote a registration; earlier versions named it as the owner only.
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

// earlier reads the registration that an earlier version of this installation wrote, under the name that all installations shared; nil where there is none.
func (r *Registrar) earlier(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	if r.Endpoint.Name == r.Endpoint.Service {
		return nil, nil
	}
	found := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: r.Endpoint.Service}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the registration of an earlier version: %w", err)
	case ownerOf(found) != r.OwnerNamespace:
		return nil, nil
	}
	return found, nil
}

// segment chooses the segment to register, and says when to choose again. A new one is registered when every replica has had the time to notice it. There is none
// while replicas of an earlier version, which knows no segments, may be called.
func (r *Registrar) segment(ctx context.Context, earlier *admissionregistrationv1.MutatingWebhookConfiguration) (string, time.Duration, error) {
	if earlier != nil {
		rolled, err := r.rolledOut(ctx)
		if err != nil || !rolled {
			return "", bundleRetry, err
		}
	}
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

// rolledOut returns whether the Deployment has had no Pods of an earlier version for as long as one may take to end. Where there is no Deployment,
// there are no replicas that it would replace.
func (r *Registrar) rolledOut(ctx context.Context) (bool, error) {
	d := &appsv1.Deployment{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Endpoint.Namespace, Name: r.Endpoint.Service}, d)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the Deployment: %w", err)
	}
	if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas == 0 || s.UpdatedReplicas != s.Replicas {
		r.rolled = time.Time{}
		return false, nil
	}
	if r.rolled.IsZero() {
		r.rolled = r.Clock.Now()
	}
	return r.Clock.Since(r.rolled) >= settle, nil
}

// owner returns the ClusterRole of the installation. It is deleted with the Deployment and the Service, and the garbage collector then deletes the
// registration, which the program itself has no permission for any more. Without a ClusterRole, it returns the namespace.
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
	// Metadata alone, as in the facts, so that one informer serves both.
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

// upToDate ignores what others may add: labels, annotations.
func upToDate(current, desired *admissionregistrationv1.MutatingWebhookConfiguration) bool {
	return contains(current.Labels, desired.Labels) && contains(current.Annotations, desired.Annotations) &&
		equality.Semantic.DeepEqual(current.Webhooks, desired.Webhooks) &&
		equality.Semantic.DeepEqual(current.OwnerReferences, desired.OwnerReferences)
}

func contains(all, some map[string]string) bool {
	for key, value := range some {
		if found, ok := all[key]; !ok || found != value {
			return false
		}
	}
	return true
}

func merge(current, desired *admissionregistrationv1.MutatingWebhookConfiguration) *admissionregistrationv1.MutatingWebhookConfiguration {
	merged := current.DeepCopy()
	merged.Labels, merged.Annotations = override(merged.Labels, desired.Labels), override(merged.Annotations, desired.Annotations)
	merged.OwnerReferences, merged.Webhooks = desired.OwnerReferences, desired.Webhooks
	return merged
}

// override returns a map with the values of another in place of its own.
func override(into, values map[string]string) map[string]string {
	if into == nil {
		into = map[string]string{}
	}
	maps.Copy(into, values)
	return into
}

func names(webhooks []admissionregistrationv1.MutatingWebhook) []string {
	out := make([]string, len(webhooks))
	for i := range webhooks {
		out[i] = webhooks[i].Name
	}
	return out
}

// Check says whether the API server would call this program: the error is for /readyz. A replica that leads demands every webhook of its program. One that
// stands by demands none: it may know newer profiles than the leader, and must become ready for a rolling update to reach that leader. The CAs are no matter
// of it, nor the segments of paths: when they are rotated, all replicas know the new ones before they are registered, and none may be taken out for it; see
// Registered.
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
		return errors.New("the registration is not yet that of the profiles in force")
	}
	return nil
}

// withoutSecrets returns the webhooks without what is rotated: CAs, and segments of paths.
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

// Registered reads the CAs by which the API server knows the program now, rather than those that it will be told: what the server shows must be signed by
// one of them.
func (r *Registrar) Registered() BundleReader { return registeredBundle{r} }

type registeredBundle struct{ *Registrar }

// ReadBundle is that of the registration; where no webhook is registered, that which will be.
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
