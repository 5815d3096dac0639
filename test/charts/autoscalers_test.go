// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	vpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

// kube-apiserver does not check autoscalers. VerticalPodAutoscalers pass the code of their own admission webhook.
var _ = Describe("autoscalers are valid, and each has one workload that it can scale", func() {
	for _, o := range all() {
		It("in "+o.String(), func() {
			objects := o.render("default")
			workloads, byCPU := map[string]*corev1.Pod{}, map[string]string{}
			for _, object := range objects {
				if isWorkload(object) {
					workloads[object.GetKind()+" "+object.GetName()] = template(object)
				}
			}
			for _, object := range objects {
				target, cpu := "", false
				switch object.GetKind() {
				case "VerticalPodAutoscaler":
					target, cpu = vertical(object)
				case "HorizontalPodAutoscaler":
					target, cpu = horizontal(object, workloads)
				default:
					continue
				}
				Expect(workloads).To(HaveKey(target), "workloads, with the target of the %s", object.GetKind())
				if cpu {
					Expect(byCPU).NotTo(HaveKey(target), "autoscalers that decide by the CPU of %s", target)
					byCPU[target] = object.GetKind()
				}
			}
		})
	}

	It("finds several autoscalers and workloads in the charts", func() {
		found := map[string]int{}
		for _, o := range all() {
			for _, object := range o.render("default") {
				found[object.GetKind()]++
			}
		}
		Expect(found["VerticalPodAutoscaler"]).To(BeNumerically(">=", 5), "VerticalPodAutoscalers")
		Expect(found["HorizontalPodAutoscaler"]).To(BeNumerically(">=", 3), "HorizontalPodAutoscalers")
	})
})

// vertical checks a VerticalPodAutoscaler. It returns its target, and whether it decides by the CPU.
func vertical(object *unstructured.Unstructured) (target string, cpu bool) {
	GinkgoHelper()
	autoscaler := &vpav1.VerticalPodAutoscaler{}
	decode(object, autoscaler)
	Expect(vpa.ValidateVPA(autoscaler, true)).To(Succeed(), "validating the VerticalPodAutoscaler %s", object.GetName())
	resources := autoscaler.Spec.ResourcePolicy.ContainerPolicies[0].ControlledResources
	cpu = resources == nil || !slices.Equal(*resources, []corev1.ResourceName{corev1.ResourceMemory})
	return autoscaler.Spec.TargetRef.Kind + " " + autoscaler.Spec.TargetRef.Name, cpu
}

// horizontal checks that the target's containers have requests for the metrics of a HorizontalPodAutoscaler. It returns
// the target.
func horizontal(object *unstructured.Unstructured, workloads map[string]*corev1.Pod) (target string, cpu bool) {
	GinkgoHelper()
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	decode(object, autoscaler)
	target = autoscaler.Spec.ScaleTargetRef.Kind + " " + autoscaler.Spec.ScaleTargetRef.Name
	Expect(workloads).To(HaveKey(target), "workloads, with the target of the HorizontalPodAutoscaler")
	for _, metric := range autoscaler.Spec.Metrics {
		for _, container := range workloads[target].Spec.Containers {
			request := container.Resources.Requests.Name(metric.Resource.Name, "")
			Expect(request.IsZero()).To(BeFalse(), "%s requests no %s", container.Name, metric.Resource.Name)
		}
	}
	return target, true
}

// decode reads an object into its type. A field that the type lacks is an error.
func decode(object *unstructured.Unstructured, into any) {
	GinkgoHelper()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true)
	Expect(err).NotTo(HaveOccurred(), "decoding %s %s", object.GetKind(), object.GetName())
}
