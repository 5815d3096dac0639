// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// noticeTime is the time that API servers and other installations need to notice a change of a registration.
const noticeTime = 2 * time.Second

// withdrawTimeout limits the deletion of the registrations, including an announcement.
const withdrawTimeout = 10 * time.Second

// removalTimeoutSeconds is the API server's timeout for Removal, which may take withdrawTimeout and noticeTime.
const removalTimeoutSeconds = 15

// removalPath is the path of Removal, without a segment.
const removalPath = PathPrefix + "validate/removal"

// managedResourceKind is the kind with which Gardener installs an extension.
var managedResourceKind = schema.GroupVersionKind{
	Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource",
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
	if r.removed.Load() {
		return true, nil
	}
	namespace, err := liveNamespace(ctx, r.Direct, r.Endpoint.Namespace)
	if err != nil {
		return false, err
	}
	removed := namespace == nil
	if !removed && r.ManagedResource.Name != "" {
		managed := &metav1.PartialObjectMetadata{}
		managed.SetGroupVersionKind(managedResourceKind)
		err := r.Direct.Get(ctx, r.ManagedResource, managed)
		// Without the kind, Gardener installed nothing there.
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return false, fmt.Errorf("reading the ManagedResource of the installation: %w", err)
		}
		removed = err == nil && managed.DeletionTimestamp != nil
	}
	if removed {
		r.removed.Store(true)
	}
	return removed, nil
}

// Withdraw deletes the registrations if the installation is being removed, so that no API server calls missing
// Pods. Concurrent calls share one deletion. It fails if a registration cannot be deleted.
func (r *Registrar) Withdraw(ctx context.Context) error {
	done := r.withdrawing.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
		defer cancel()
		return nil, r.withdraw(ctx)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withdraw deletes the registrations. Without permissions, it leaves them to the garbage collector, which
// deletes them with their owner.
func (r *Registrar) withdraw(ctx context.Context) error {
	removed, err := r.uninstalling(ctx)
	if err != nil || !removed || r.forbidden.Load() {
		return err
	}
	log := logf.FromContext(ctx)
	switch err := r.deleteRegistrations(ctx); {
	case apierrors.IsForbidden(err) && r.withdrawn.Load() != nil:
	case apierrors.IsForbidden(err):
		r.forbidden.Store(true)
		log.Info("The installation is being removed, and its permissions are gone; " +
			"its registrations are deleted with their owner")
	case err != nil:
		return err
	case r.withdrawn.CompareAndSwap(nil, ptr.To(time.Now())):
		log.Info("Removed the registrations, as the installation is being removed", "configuration", r.Endpoint.Name)
	}
	return nil
}

// deleteRegistrations deletes the registrations of the webhooks and of the validation. If another installation
// may take over, it announces the deletion first.
func (r *Registrar) deleteRegistrations(ctx context.Context) error {
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := r.Direct.Get(ctx, client.ObjectKey{Name: r.Endpoint.Name}, current)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading the registration: %w", err)
	default:
		if err := r.announce(ctx, current); err != nil {
			return err
		}
		err := r.Client.Delete(ctx, current, client.Preconditions{UID: &current.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the registration: %w", err)
		}
	}
	validation := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: r.Endpoint.Name}}
	if err := r.Client.Delete(ctx, validation); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the registration of the validation: %w", err)
	}
	return nil
}

// announce announces the deletion to other installations, if there are any, and returns when they have noticed.
func (r *Registrar) announce(ctx context.Context, current *admissionregistrationv1.MutatingWebhookConfiguration) error {
	others, err := r.Installations.others(ctx, r.Direct)
	if err != nil || len(others) == 0 {
		return err
	}
	if current.Annotations[ServesAnnotation] != "" {
		delete(current.Annotations, ServesAnnotation)
		// After a conflict, another replica has announced it.
		if err := r.Client.Update(ctx, current); err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("announcing that the registration is deleted: %w", err)
		}
	}
	return sleep(ctx, noticeTime)
}

// sleep waits for a duration, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Removal answers the API server before it deletes an object that the webhooks need: Pods, their owners, the
// Service or permissions. If the installation is being removed, it deletes the registrations first.
type Removal struct{ Registrar *Registrar }

// Handle allows the deletion when no API server calls the webhooks any more.
func (h Removal) Handle(ctx context.Context, request admission.Request) admission.Response {
	if ptr.Deref(request.DryRun, false) {
		return admission.Allowed("")
	}
	if err := h.Registrar.Withdraw(ctx); err != nil && !apierrors.IsForbidden(err) {
		return admission.Errored(http.StatusServiceUnavailable, fmt.Errorf("the webhooks are still registered: %w", err))
	}
	if at := h.Registrar.withdrawn.Load(); at != nil {
		if err := sleep(ctx, time.Until(at.Add(noticeTime))); err != nil {
			return admission.Errored(http.StatusServiceUnavailable, err)
		}
	}
	return admission.Allowed("")
}

// removal returns the webhook for deletions of objects that the webhooks need.
func (e Endpoint) removal(bundle []byte, segment string) admissionregistrationv1.ValidatingWebhook {
	// Without a replica, nothing is held: the garbage collector deletes the registrations with the ClusterRole.
	webhook := e.validatingWebhook("removal", e.clientConfig(withSegment(removalPath, segment), bundle))
	for _, resources := range []admissionregistrationv1.Rule{
		{APIGroups: []string{""}, Resources: []string{"pods", "serviceaccounts", "services"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "replicasets"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}},
	} {
		resources.APIVersions, resources.Scope = []string{"v1"}, ptr.To(admissionregistrationv1.AllScopes)
		webhook.Rules = append(webhook.Rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete}, Rule: resources,
		})
	}
	webhook.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{nameLabel: e.Service}}
	webhook.SideEffects = ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun)
	webhook.TimeoutSeconds = ptr.To[int32](removalTimeoutSeconds)
	webhook.MatchConditions = []admissionregistrationv1.MatchCondition{{
		// The namespace selector does not apply to cluster-wide objects.
		Name:       "installation",
		Expression: fmt.Sprintf("has(oldObject.metadata.namespace) || oldObject.metadata.name == %q", e.Name),
	}}
	return webhook
}
