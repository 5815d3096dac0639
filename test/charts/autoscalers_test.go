// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	vpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

// TestAutoscalers checks rules that the API server does not: VerticalPodAutoscalers pass the code of their own
// admission webhook, autoscalers have existing workloads with the requests that a HorizontalPodAutoscaler needs, and no
// two of them scale by CPU.
func TestAutoscalers(t *testing.T) {
	found := map[string]int{}
	for _, o := range all(t) {
		t.Run(o.String(), func(t *testing.T) {
			workloads, byCPU := map[string]*corev1.Pod{}, map[string]string{}
			objects := o.render(t, "default")
			for _, object := range objects {
				if kind := object.GetKind(); kind == "Deployment" || kind == "DaemonSet" {
					workloads[kind+" "+object.GetName()] = template(t, object)
				}
			}
			claim := func(object *unstructured.Unstructured, target string) {
				found[object.GetKind()]++
				if workloads[target] == nil {
					t.Fatalf("%s is for %s, which is not there", object.GetKind(), target)
				}
			}
			decides := func(object *unstructured.Unstructured, target string) {
				if other, ok := byCPU[target]; ok {
					t.Errorf("%s and %s decide by the CPU of %s", other, object.GetKind(), target)
				}
				byCPU[target] = object.GetKind()
			}
			for _, object := range objects {
				switch object.GetKind() {
				case "VerticalPodAutoscaler":
					autoscaler := &vpav1.VerticalPodAutoscaler{}
					decode(t, object, autoscaler)
					if err := vpa.ValidateVPA(autoscaler, true); err != nil {
						t.Error(err)
					}
					target := autoscaler.Spec.TargetRef.Kind + " " + autoscaler.Spec.TargetRef.Name
					claim(object, target)
					resources := autoscaler.Spec.ResourcePolicy.ContainerPolicies[0].ControlledResources
					if resources == nil || !slices.Equal(*resources, []corev1.ResourceName{corev1.ResourceMemory}) {
						decides(object, target)
					}
				case "HorizontalPodAutoscaler":
					autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
					decode(t, object, autoscaler)
					target := autoscaler.Spec.ScaleTargetRef.Kind + " " + autoscaler.Spec.ScaleTargetRef.Name
					claim(object, target)
					for _, metric := range autoscaler.Spec.Metrics {
						for _, container := range workloads[target].Spec.Containers {
							if container.Resources.Requests.Name(metric.Resource.Name, "").IsZero() {
								t.Errorf("%s requests no %s", container.Name, metric.Resource.Name)
							}
						}
					}
					decides(object, target)
				}
			}
		})
	}
	if found["VerticalPodAutoscaler"] < 5 || found["HorizontalPodAutoscaler"] < 3 {
		t.Errorf("found %v", found)
	}
}

// decode reads an object into its type. A field that the type has not is an error.
func decode(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
		t.Fatal(err)
	}
}
