// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// firstKinds are kinds of gardener-apiserver's groups, which are listed to see that a group is served.
var firstKinds = map[string]string{
	"core.gardener.cloud/v1beta1": "SeedList", "core.gardener.cloud/v1": "ControllerDeploymentList",
	"security.gardener.cloud/v1alpha1":       "CredentialsBindingList",
	"seedmanagement.gardener.cloud/v1alpha1": "ManagedSeedList",
	"settings.gardener.cloud/v1alpha1":       "OpenIDConnectPresetList",
	"operations.gardener.cloud/v1alpha1":     "BastionList",
}

func firstKind(group, version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: firstKinds[group+"/"+version]}
}

// answered are the extension resources that the cloud's controllers answer. Extensions of other types than the cloud's
// have their own.
var answered = []string{
	"BackupBucket", "BackupEntry", "ContainerRuntime", "ControlPlane", "DNSRecord", "Extension", "Infrastructure",
	"Network", "OperatingSystemConfig", "Worker",
}

// cloud plays the extension controllers of a cloud, etcd-druid, the operator of Prometheus, the controller for
// namespaces, and the garbage collector for registrations of webhooks.
type cloud struct{ *garden }

// work goes over all objects once.
func (c cloud) work(ctx context.Context) error {
	for _, kind := range answered {
		if err := c.each(ctx, schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: kind},
			c.answer); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if err := c.each(ctx, schema.GroupVersionKind{Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd"},
		c.answerEtcd); err != nil {
		return fmt.Errorf("Etcd: %w", err)
	}
	for _, kind := range []string{"Prometheus", "Alertmanager"} {
		if err := c.each(ctx, schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind},
			c.answerMonitoring); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if err := c.collect(ctx); err != nil {
		return fmt.Errorf("collecting registrations: %w", err)
	}
	return c.finishNamespaces(ctx)
}

// collect deletes registrations of webhooks without their ClusterRole, as the garbage collector does.
func (c cloud) collect(ctx context.Context) error {
	var owned []client.Object
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.MutatingWebhookConfigurationList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{},
	} {
		if err := c.client.List(ctx, list); err != nil {
			return err
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			owned = append(owned, o.(client.Object))
			return nil
		}); err != nil {
			return err
		}
	}
	// Owners are listed after their dependents, so that all existing ones are seen.
	roles := &rbacv1.ClusterRoleList{}
	if err := c.client.List(ctx, roles); err != nil {
		return err
	}
	for _, o := range owned {
		for _, owner := range o.GetOwnerReferences() {
			exists := slices.ContainsFunc(roles.Items, func(r rbacv1.ClusterRole) bool { return r.UID == owner.UID })
			if owner.Kind != "ClusterRole" || exists {
				continue
			}
			if err := c.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}

// each calls a function for all objects of a kind, which may not exist yet.
func (c cloud) each(ctx context.Context, kind schema.GroupVersionKind,
	do func(context.Context, *unstructured.Unstructured) error) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := c.client.List(ctx, list); meta.IsNoMatchError(err) || apierrors.IsNotFound(err) ||
		discovery.IsGroupDiscoveryFailedError(err) {
		return nil
	} else if err != nil {
		return err
	}
	for i := range list.Items {
		if err := do(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// answer reports an extension resource as reconciled.
func (c cloud) answer(ctx context.Context, o *unstructured.Unstructured) error {
	if kind, _, _ := unstructured.NestedString(o.Object, "spec", "type"); kind != provider {
		return nil
	}
	_, operation := o.GetAnnotations()["gardener.cloud/operation"]
	if operation {
		patch := client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata": {"annotations": {"gardener.cloud/operation": null}}}`))
		if err := c.client.Patch(ctx, o, patch); err != nil {
			return err
		}
	}
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if !operation && observed == o.GetGeneration() {
		return nil
	}
	status := map[string]any{
		"observedGeneration": o.GetGeneration(),
		"lastOperation": map[string]any{
			"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "Played",
			"lastUpdateTime": time.Now().UTC().Format(time.RFC3339),
		},
	}
	switch o.GetKind() {
	case "Infrastructure":
		status["nodesCIDR"] = "10.250.0.0/16"
	case "Worker":
		status["machineDeploymentsLastUpdateTime"] = time.Now().UTC().Format(time.RFC3339)
		status["machineDeployments"] = []any{}
	case "OperatingSystemConfig":
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "osc-" + o.GetName(), Namespace: o.GetNamespace()},
			Data:       map[string][]byte{"cloud_config": []byte("#!/bin/sh\n")},
		}
		if err := c.client.Create(ctx, secret); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		status["cloudConfig"] = map[string]any{"secretRef": map[string]any{"name": secret.Name,
			"namespace": secret.Namespace}}
	}
	return c.patchStatus(ctx, o, status)
}

// answerEtcd reports an Etcd as ready.
func (c cloud) answerEtcd(ctx context.Context, o *unstructured.Unstructured) error {
	for _, operation := range []string{"druid.gardener.cloud/operation", "gardener.cloud/operation"} {
		if _, asked := o.GetAnnotations()[operation]; asked {
			patch := client.RawPatch("application/merge-patch+json",
				fmt.Appendf(nil, `{"metadata": {"annotations": {%q: null}}}`, operation))
			if err := c.client.Patch(ctx, o, patch); err != nil {
				return err
			}
		}
	}
	if observed, _, _ := unstructured.NestedInt64(o.Object, "status",
		"observedGeneration"); observed == o.GetGeneration() {
		return nil
	}
	return c.patchStatus(ctx, o,
		map[string]any{"observedGeneration": o.GetGeneration(), "ready": true, "replicas": 1, "readyReplicas": 1})
}

// answerMonitoring reports a Prometheus or an Alertmanager as available.
func (c cloud) answerMonitoring(ctx context.Context, o *unstructured.Unstructured) error {
	replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	if available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas"); available == replicas {
		return nil
	}
	var conditions []any
	for _, kind := range []string{"Available", "Reconciled"} {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			"observedGeneration": o.GetGeneration(),
		})
	}
	return c.patchStatus(ctx, o, map[string]any{
		"paused": false, "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas,
		"unavailableReplicas": 0,
		"conditions":          conditions,
	})
}

func (c cloud) patchStatus(ctx context.Context, o *unstructured.Unstructured, status map[string]any) error {
	raw, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return c.client.Status().Patch(ctx, o, client.RawPatch("application/merge-patch+json", raw))
}

// finishNamespaces empties namespaces that are being deleted and lets them go.
func (c cloud) finishNamespaces(ctx context.Context) error {
	namespaces := &corev1.NamespaceList{}
	if err := c.client.List(ctx, namespaces); err != nil {
		return err
	}
	for i := range namespaces.Items {
		n := &namespaces.Items[i]
		if n.DeletionTimestamp == nil {
			continue
		}
		left, err := c.empty(ctx, n.Name)
		if err != nil {
			return fmt.Errorf("emptying the namespace %s: %w", n.Name, err)
		}
		if left == 0 {
			n.Spec.Finalizers = nil
			if err := c.client.SubResource("finalize").Update(ctx, n); client.IgnoreNotFound(err) != nil &&
				!apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return nil
}

// empty deletes all objects of a namespace and returns how many it found.
func (c cloud) empty(ctx context.Context, namespace string) (int, error) {
	asker, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		return 0, err
	}
	lists, err := asker.ServerPreferredNamespacedResources()
	if err != nil {
		return 0, err
	}
	found := 0
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return 0, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") ||
				resource.Kind == "Event" {
				continue
			}
			objects := &metav1.PartialObjectMetadataList{}
			objects.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			if err := c.client.List(ctx, objects, client.InNamespace(namespace)); err != nil {
				return 0, fmt.Errorf("listing %s: %w", resource.Name, err)
			}
			for i := range objects.Items {
				found++
				if err := c.client.Delete(ctx, &objects.Items[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
					return 0, fmt.Errorf("deleting %s: %w", resource.Name, err)
				}
			}
		}
	}
	return found, nil
}

// same reports whether two values are the same for Kubernetes.
func same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// sum returns a digest of a value.
func sum(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // an object from an API server can be encoded
	}
	digest := sha256.Sum256(raw)
	return digest[:8]
}

// encoded returns bytes as JSON has them: a string in base64.
func encoded(content []byte) string {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
