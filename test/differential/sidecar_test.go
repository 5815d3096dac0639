// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/nodemanagement/machinecontrollermanager"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const sidecarProfile = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: sidecar}
providers: [acme]
controlplane:
  machine-controller-manager:
  - machineControllerManagerProvider: {provider: acme, image: "registry.example.com/provider-acme:v1"}
  machine-controller-manager-vpa:
  - machineControllerManagerProvider: {provider: acme}
`

// TestSidecar compares the operation machineControllerManagerProvider with Gardener's function for providers.
func TestSidecar(t *testing.T) {
	plain := gardencorev1beta1.Worker{Name: "general", Machine: gardencorev1beta1.Machine{Type: "m"}}
	own := plain
	own.ControlPlane = &gardencorev1beta1.WorkerControlPlane{}
	for name, test := range map[string]struct {
		namespace string
		workers   []gardencorev1beta1.Worker
	}{
		"in a seed":                 {"shoot--foo--bar", []gardencorev1beta1.Worker{plain}},
		"a shoot without workers":   {"shoot--foo--bar", nil},
		"a self-hosted shoot":       {"shoot--foo--bar", []gardencorev1beta1.Worker{plain, own}},
		"self-hosted, in the shoot": {"kube-system", []gardencorev1beta1.Worker{own}},
	} {
		t.Run(name, func(t *testing.T) {
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "bar", Namespace: "garden-foo"}}
			shoot.Spec.Kubernetes.Version, shoot.Spec.Provider = "1.33.5",
				gardencorev1beta1.Provider{Type: "acme", Workers: test.workers}

			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "machine-controller-manager",
				Namespace: test.namespace}}
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "machine-controller-manager"}}
			admitSidecar(t, shoot, deployment, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
			want := machinecontrollermanager.ProviderSidecarContainer(shoot, test.namespace, "provider-acme",
				"registry.example.com/provider-acme:v1")
			if diff := cmp.Diff(want, deployment.Spec.Template.Spec.Containers[1]); diff != "" {
				t.Errorf("the container (-Gardener +Graft):\n%s", diff)
			}

			vpa := &vpaautoscalingv1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "machine-controller-manager-vpa",
				Namespace: test.namespace}}
			admitSidecar(t, shoot, vpa,
				schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"})
			policies := []vpaautoscalingv1.ContainerResourcePolicy{
				machinecontrollermanager.ProviderSidecarVPAContainerPolicy("provider-acme")}
			if diff := cmp.Diff(policies, vpa.Spec.ResourcePolicy.ContainerPolicies); diff != "" {
				t.Errorf("the policy (-Gardener +Graft):\n%s", diff)
			}
		})
	}
}

// admitSidecar takes an object of a shoot through the profile, into the object.
func admitSidecar(t *testing.T, shoot *gardencorev1beta1.Shoot, object metav1.Object, gvk schema.GroupVersionKind) {
	t.Helper()
	object.(runtime.Object).GetObjectKind().SetGroupVersionKind(gvk)
	shoot.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}
	cluster.SetGroupVersionKind(extensionsv1alpha1.SchemeGroupVersion.WithKind("Cluster"))
	cluster.Spec.Shoot.Raw = marshal(t, shoot)
	found, err := facts.FromCluster(marshal(t, cluster))
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.Load(source.File{Name: "sidecar.yaml", Data: []byte(sidecarProfile)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	program, err := compiler.Compile(documents, compiler.Options{Generation: contract.Today})
	if err != nil {
		t.Fatal(err)
	}
	raw := marshal(t, object)
	result, err := program.Admit(context.Background(), mutation.Request{
		Set: target.ControlPlane, Provider: "acme", Operation: "CREATE", Namespace: object.GetNamespace(),
		Name:  object.GetName(),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: raw,
	}, &facts.Static{Facts: found})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(result.Patch)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = patch.Apply(raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, object); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
