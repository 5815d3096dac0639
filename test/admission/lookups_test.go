// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookingUp is a profile with a lookup of each sort. Its Infrastructure and its Service have computed names.
var lookingUp = head("seeker", "seeker") + `
lookups:
  cloud: {secret: cloudprovider, keys: [password], labels: [cloud.example.com/region], checksum: true}
  network: {infrastructure: "${ shoot.name }", paths: {nodes: status.nodesCIDR}}
  bucket: {backupBucket: "${ shoot.technicalID + '-bucket' }", paths: {region: spec.region}, optional: true}
  service:
    object: {apiVersion: v1, kind: Service, name: "${ object.name + '-extra' }"}
    paths: {port: "spec.ports[name=metrics].port"}
    annotations: [tier]
  proxy: {configMap: proxy, keys: [url], optional: true}
controlplane:
  kube-controller-manager:
  - flags:
      set:
        password: ${ lookups.cloud.password }
        cloud-region: ${ lookups.cloud.labels[?"cloud.example.com/region"].orValue("none") }
        nodes: ${ lookups.network.nodes }
        bucket: ${ lookups.?bucket.?region.orValue("none") }
        extra: ${ lookups.service.port }
        tier: ${ lookups.service.annotations[?"tier"].orValue("none") }
  - when: ${ has(lookups.proxy) }
    flags: {set: {proxy: "${ lookups.proxy.url }"}}
  - podAnnotations: {set: {checksum/cloud: "${ lookups.cloud.checksum }"}}
`

var _ = Describe("lookups of all sorts", func() {
	It("work with the permissions of the chart, follow changes, and write no value of a Secret elsewhere",
		func(ctx SpecContext) {
			p := start(ctx, programOptions{
				Profiles: map[string]string{"seeker": lookingUp},
				Values: map[string]any{"lookups": map[string]any{
					"secrets": []any{"cloudprovider"}, "configMaps": []any{"proxy"}, "objects": []any{
						map[string]any{"group": "extensions.gardener.cloud", "resource": "infrastructures"},
						map[string]any{"group": "extensions.gardener.cloud", "resource": "backupbuckets"},
						map[string]any{"group": "", "resource": "services"},
					},
				}},
			})
			namespace := newShoot(ctx, "seeker", "seeker")
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider",
					Labels: map[string]string{"cloud.example.com/region": "eu-1"}},
				StringData: map[string]string{"password": secretValue, "other": "x"},
			}
			infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
				Name: "seeker"}}
			infrastructure.Spec.Type, infrastructure.Spec.Region = "seeker", "eu-1"
			infrastructure.Spec.SecretRef.Name = "cloudprovider"
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-controller-manager-extra",
				Annotations: map[string]string{"tier": "gold"}}}
			service.Spec.Ports = []corev1.ServicePort{{Name: "other", Port: 1}, {Name: "metrics", Port: 9090}}
			for _, object := range []client.Object{secret, service} {
				Expect(land.Client().Create(ctx, object)).To(Succeed())
			}

			// The Infrastructure is required, and not there.
			object := deployment(namespace, "kube-controller-manager")
			err := land.Client().Create(ctx, object)
			const missing = "LookupMissing: profile seeker: lookup network: reading the Infrastructure seeker: not found"
			Expect(err).To(MatchError(ContainSubstring(missing)), "creating an object without the Infrastructure")
			Expect(land.Client().Create(ctx, infrastructure)).To(Succeed())
			nodes := "10.250.0.0/16"
			infrastructure.Status.NodesCIDR = &nodes
			Expect(land.Client().Status().Update(ctx, infrastructure)).To(Succeed())

			created := create(ctx, deployment(namespace, "kube-controller-manager"))
			expectFlags(created, map[string]bool{
				"--password=" + secretValue: true, "--cloud-region=eu-1": true, "--nodes=10.250.0.0/16": true,
				"--bucket=none": true,
				"--extra=9090":  true, "--tier=gold": true, "--proxy=": false,
			})
			p.expectCount(1, "graft_rules_total",
				labels{"profile": "seeker", "rule": "kube-controller-manager[1].flags", "result": "skipped"}, func() {
					writeAgain(ctx, created, "1")
				})

			// Watched objects are read again soon after a change; missing ones may appear.
			secret.Labels["cloud.example.com/region"] = "eu-2"
			Expect(land.Client().Update(ctx, secret)).To(Succeed())
			proxy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "proxy"},
				Data: map[string]string{"url": "http://proxy"}}
			Expect(land.Client().Create(ctx, proxy)).To(Succeed())
			step := 1
			Eventually(func() error {
				step++
				command := commandOf(writeAgain(ctx, created, fmt.Sprint(step)))
				if !slices.Contains(command, "--cloud-region=eu-2") || !slices.Contains(command, "--proxy=http://proxy") {
					return errors.New(strings.Join(command, " "))
				}
				return nil
			}).Should(Succeed(), "the change of the Secret is seen")
			Expect(p.log.String()).NotTo(ContainSubstring(secretValue), "the log of the program")
			for _, line := range strings.Split(p.log.String(), "\n") {
				Expect(line).NotTo(ContainSubstring("forbidden"), "a line of the log")
			}
		})
})

// writeAgain writes a Deployment as Gardener would again, and returns the result.
func writeAgain(ctx context.Context, created *unstructured.Unstructured, step string) *unstructured.Unstructured {
	GinkgoHelper()
	object := deployment(created.GetNamespace(), created.GetName())
	object.SetAnnotations(map[string]string{"step": step})
	Expect(land.Client().Update(ctx, object)).To(Succeed())
	return object
}
