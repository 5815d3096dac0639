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
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// bundleRetry is how soon a missing CA bundle is looked for again; its Secret is watched besides.
const bundleRetry = time.Second

// Registrar keeps the MutatingWebhookConfiguration as the program in force needs it. It runs in the leader; Check runs in all
// replicas.
type Registrar struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Endpoint is what is registered.
	Endpoint Endpoint
	// Bundle is the CAs to trust.
	Bundle BundleReader
	// Registrations are those of the program in force.
	Registrations func() []mutation.Registration
	// OwnerNamespace is the namespace with which the registration is to vanish, so that an extension that is gone does not
	// hold up control planes; empty for none.
	OwnerNamespace string
	// SyncPeriod is how often it is compared without a reason.
	SyncPeriod time.Duration
}

// Reconcile compares and writes. The write carries the resource version that was compared, so that two writers cannot undo
// each other unnoticed.
func (r *Registrar) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	bundle, err := r.Bundle.ReadBundle(ctx)
	if errors.Is(err, ErrNoBundle) {
		// What is registered keeps its bundle: an empty one would turn every admission away.
		return reconcile.Result{RequeueAfter: bundleRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	desired := r.Endpoint.Configuration(r.Registrations(), bundle)
	if desired.OwnerReferences, err = r.owner(ctx); err != nil {
		return reconcile.Result{}, err
	}
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(desired), current)
	switch {
	case apierrors.IsNotFound(err):
		err = r.Client.Create(ctx, desired)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading the registration: %w", err)
	case upToDate(current, desired):
		return reconcile.Result{RequeueAfter: r.SyncPeriod}, nil
	default:
		err = r.Client.Update(ctx, merge(current, desired))
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		// The cache is behind; the event that it waits for comes with the next look.
		return reconcile.Result{RequeueAfter: bundleRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the registration: %w", err)
	}
	logf.FromContext(ctx).Info("Registered the webhooks", "configuration", desired.Name, "webhooks", names(desired.Webhooks))
	return reconcile.Result{RequeueAfter: r.SyncPeriod}, nil
}

func (r *Registrar) owner(ctx context.Context) ([]metav1.OwnerReference, error) {
	if r.OwnerNamespace == "" {
		return nil, nil
	}
	// Metadata alone, as in the facts, so that one informer serves both.
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.OwnerNamespace}, namespace); err != nil {
		return nil, fmt.Errorf("reading the owner of the registration: %w", err)
	}
	owner := metav1.NewControllerRef(namespace, corev1.SchemeGroupVersion.WithKind("Namespace"))
	owner.BlockOwnerDeletion = ptr.To(false)
	return []metav1.OwnerReference{*owner}, nil
}

// upToDate ignores what others may add: labels, annotations.
func upToDate(current, desired *admissionregistrationv1.MutatingWebhookConfiguration) bool {
	for key, value := range desired.Labels {
		if current.Labels[key] != value {
			return false
		}
	}
	return equality.Semantic.DeepEqual(current.Webhooks, desired.Webhooks) &&
		equality.Semantic.DeepEqual(current.OwnerReferences, desired.OwnerReferences)
}

func merge(current, desired *admissionregistrationv1.MutatingWebhookConfiguration) *admissionregistrationv1.MutatingWebhookConfiguration {
	merged := current.DeepCopy()
	if merged.Labels == nil {
		merged.Labels = map[string]string{}
	}
	maps.Copy(merged.Labels, desired.Labels)
	merged.OwnerReferences, merged.Webhooks = desired.OwnerReferences, desired.Webhooks
	return merged
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
// of it: when they are rotated, all replicas know the new ones before they are registered, and none may be taken out for it; see Registered.
func (r *Registrar) Check(ctx context.Context, leads bool) error {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current); err != nil {
		return fmt.Errorf("reading the registration: %w", err)
	}
	desired := r.Endpoint.Configuration(r.Registrations(), nil)
	if leads && !equality.Semantic.DeepEqual(withoutCAs(current.Webhooks), withoutCAs(desired.Webhooks)) {
		return errors.New("the registration is not yet that of the profiles in force")
	}
	return nil
}

func withoutCAs(webhooks []admissionregistrationv1.MutatingWebhook) []admissionregistrationv1.MutatingWebhook {
	webhooks = slices.Clone(webhooks)
	for i := range webhooks {
		webhooks[i].ClientConfig.CABundle = nil
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
