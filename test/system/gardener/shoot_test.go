// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// controlPlane is the namespace of the Shoot's control plane.
const controlPlane = "shoot--acme--one"

// shootKey is the name of the Shoot.
var shootKey = client.ObjectKey{Namespace: "garden-acme", Name: "one"}

// createShoot creates a project and a Shoot of the cloud. It is hibernated: its cluster has no API server for Gardener.
func (g *garden) createShoot(ctx context.Context) {
	GinkgoHelper()
	g.apply(ctx, `apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: acme}
spec:
  type: acme
  kubernetes: {versions: [{version: 1.34.4}]}
  machineImages:
  - {name: acme, updateStrategy: major, versions: [{version: 1.0.0, architectures: [amd64], cri: [{name: containerd}]}]}
  machineTypes: [{name: medium, cpu: "2", gpu: "0", memory: 4Gi, usable: true, architecture: amd64}]
  regions: [{name: region-1, zones: [{name: a}]}]
---
apiVersion: core.gardener.cloud/v1beta1
kind: Project
metadata: {name: acme}
spec: {namespace: garden-acme}
`)
	Eventually(func(give Gomega) {
		project := &gardencorev1beta1.Project{}
		give.Expect(g.gardener.Get(ctx, client.ObjectKey{Name: "acme"}, project)).To(Succeed())
		give.Expect(project.Status.Phase).To(Equal(gardencorev1beta1.ProjectReady))
	}, patience, time.Second).Should(Succeed(), func() string { return g.tail("gardener-controller-manager") })
	g.apply(ctx, `apiVersion: v1
kind: Secret
metadata: {name: cloud, namespace: garden-acme}
---
apiVersion: security.gardener.cloud/v1alpha1
kind: CredentialsBinding
metadata: {name: cloud, namespace: garden-acme}
provider: {type: acme}
credentialsRef: {apiVersion: v1, kind: Secret, name: cloud, namespace: garden-acme}
`)
	// gardener-apiserver reads projects and credentials from caches.
	Eventually(func() error {
		out, err := g.kubectl(ctx, fmt.Sprintf(`apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata:
  name: one
  namespace: garden-acme
  annotations: {shoot.gardener.cloud/skip-readiness: "true"}
spec:
  cloudProfile: {kind: CloudProfile, name: acme}
  credentialsBindingName: cloud
  seedName: %s
  region: region-1
  hibernation: {enabled: true}
  dns: {domain: one.external.example.com, providers: [{type: acme, primary: true, secretName: cloud}]}
  kubernetes: {version: 1.34.4}
  networking: {type: acme, nodes: 10.250.0.0/16, pods: 100.96.0.0/11, services: 100.64.0.0/13}
  provider:
    type: acme
    workers:
    - {name: worker, minimum: 1, maximum: 2, zones: [a], machine: {type: medium, image: {name: acme, version: 1.0.0}}}
`, seedName), "apply", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}, time.Minute, time.Second).Should(Succeed())
}

// reconcileShoot runs the flow of the Shoot once more.
func (g *garden) reconcileShoot(ctx context.Context) {
	GinkgoHelper()
	g.operate(ctx, v1beta1constants.GardenerOperationReconcile)
}

// rotateCA replaces the certificate authorities of the Shoot, in the two steps that Gardener has for it.
func (g *garden) rotateCA(ctx context.Context) {
	GinkgoHelper()
	for _, step := range []struct {
		operation string
		phase     gardencorev1beta1.CredentialsRotationPhase
	}{
		{v1beta1constants.OperationRotateCAStart, gardencorev1beta1.RotationPrepared},
		{v1beta1constants.OperationRotateCAComplete, gardencorev1beta1.RotationCompleted},
	} {
		g.operate(ctx, step.operation)
		Eventually(func(give Gomega) {
			shoot := &gardencorev1beta1.Shoot{}
			give.Expect(g.gardener.Get(ctx, shootKey, shoot)).To(Succeed())
			give.Expect(helper.GetShootCARotationPhase(shoot.Status.Credentials)).To(Equal(step.phase))
		}, patience, time.Second).Should(Succeed())
	}
}

// operate asks Gardener for an operation on the Shoot, and returns when the flow has come to 100 %.
func (g *garden) operate(ctx context.Context, operation string) {
	GinkgoHelper()
	shoot := &gardencorev1beta1.Shoot{}
	Expect(g.gardener.Get(ctx, shootKey, shoot)).To(Succeed())
	patch := client.MergeFrom(shoot.DeepCopy())
	shoot.Annotations = map[string]string{
		v1beta1constants.GardenerOperation:            operation,
		v1beta1constants.AnnotationShootSkipReadiness: "true",
	}
	generation := shoot.Generation
	Expect(g.gardener.Patch(ctx, shoot, patch)).To(Succeed())
	Expect(shoot.Generation).To(BeNumerically(">", generation))
	g.reconciled(ctx, gardencorev1beta1.LastOperationTypeReconcile)
}

// reconciled returns when the flow of the Shoot's last generation has come to 100 %.
func (g *garden) reconciled(ctx context.Context, kind gardencorev1beta1.LastOperationType) {
	GinkgoHelper()
	Eventually(func(give Gomega) {
		shoot := &gardencorev1beta1.Shoot{}
		give.Expect(g.gardener.Get(ctx, shootKey, shoot)).To(Succeed())
		last := shoot.Status.LastOperation
		give.Expect(last).NotTo(BeNil())
		give.Expect(shoot.Status.ObservedGeneration).To(Equal(shoot.Generation))
		give.Expect(last.Type).To(Equal(kind))
		give.Expect(last.Progress).To(Equal(int32(100)), "%s; %+v", last.Description, shoot.Status.LastErrors)
		give.Expect(last.State).To(Equal(gardencorev1beta1.LastOperationStateSucceeded), last.Description)
	}, patience, time.Second).Should(Succeed(), func() string { return g.tail("gardenlet") })
}

// changed checks the objects of the Shoot that the profile changes.
func (g *garden) changed(ctx context.Context, verbosity int) {
	GinkgoHelper()
	for name, wanted := range map[string][]string{
		"kube-apiserver":          {fmt.Sprintf("--v=%d", verbosity)},
		"kube-controller-manager": {fmt.Sprintf("--v=%d", verbosity), "--cloud-provider=external"},
	} {
		d := &appsv1.Deployment{}
		Expect(g.client.Get(ctx, client.ObjectKey{Namespace: controlPlane, Name: name}, d)).To(Succeed())
		for _, flag := range wanted {
			key, _, _ := strings.Cut(flag, "=")
			var found []string
			Expect(flags(d)).To(ContainElement(HavePrefix(key+"="), &found), name)
			Expect(found).To(Equal([]string{flag}), name)
		}
	}
	list := &extensionsv1alpha1.OperatingSystemConfigList{}
	Expect(g.client.List(ctx, list, client.InNamespace(controlPlane))).To(Succeed())
	found := 0
	for i := range list.Items {
		if spec := list.Items[i].Spec; spec.Purpose == extensionsv1alpha1.OperatingSystemConfigPurposeReconcile {
			found++
			Expect(kubelet(spec)).To(ContainSubstring("--cloud-provider=external"))
		}
	}
	Expect(found).To(Equal(1))
}

// kubelet returns the unit of the kubelet.
func kubelet(spec extensionsv1alpha1.OperatingSystemConfigSpec) string {
	for _, unit := range spec.Units {
		if unit.Name == v1beta1constants.OperatingSystemConfigUnitNameKubeletService && unit.Content != nil {
			return *unit.Content
		}
	}
	return ""
}

// flags returns the command and the arguments of a Deployment's program.
func flags(d *appsv1.Deployment) []string {
	container := d.Spec.Template.Spec.Containers[0]
	return slices.Concat(container.Command, container.Args)
}

// generations returns the generations of the objects that the profile changes.
func (g *garden) generations(ctx context.Context) map[string]int64 {
	GinkgoHelper()
	all := map[string]int64{}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager"} {
		d := &appsv1.Deployment{}
		Expect(g.client.Get(ctx, client.ObjectKey{Namespace: controlPlane, Name: name}, d)).To(Succeed())
		all[name] = d.Generation
	}
	return all
}
