// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// head begins a profile for a provider.
func head(name, provider string) string {
	return "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\n" +
		"metadata: {name: " + name + "}\nproviders: [" + provider + "]\n"
}

// setFlag is a profile that sets a flag of the kube-controller-manager. The value is at line 7, column 26.
func setFlag(name, provider, flag, value string) string {
	return head(name, provider) + "controlplane:\n  kube-controller-manager:\n  - flags: {set: {" + flag + ": " + value +
		"}}\n"
}

var _ = Describe("webhooks act only in namespaces with the label of their provider", Ordered, func() {
	var p *program

	BeforeAll(func(ctx SpecContext) {
		p = start(ctx, programOptions{Profiles: map[string]string{
			"openstack": "",
			"more":      setFlag("more", "openstack", "more", "yes"),
			"acme": setFlag("acme", "acme", "acme",
				"yes") + "controlplanebackup:\n  etcd-main:\n  - annotations: {set: {acme/backup: here}}\n",
		}})
		want := []string{"controlplane.acme", "controlplane.openstack", "controlplanebackup.acme",
			"controlplaneexposure.openstack"}
		Expect(registered(ctx)).To(Equal(want), "registered webhooks")

	})

	all := map[string]struct {
		// The providers of the shoot, of the seed and of the backup.
		shoot, seed, backup string
		labels              map[string]string
		// The changes, and the number of webhooks that are called for the three objects.
		flags map[string]bool
		class string
		note  string
		calls float64
	}{
		"another provider": {
			shoot: "gcp", seed: "gcp", backup: "gcp",
			flags: map[string]bool{"--cloud-provider=external": false, "--acme=yes": false},
		},
		"no labels": {
			shoot: "openstack", seed: "openstack", backup: "acme",
			labels: map[string]string{"shoot.gardener.cloud/provider": "", "seed.gardener.cloud/provider": "",
				"backup.gardener.cloud/provider": ""},
			flags: map[string]bool{"--cloud-provider=external": false, "--more=yes": false},
		},
		"two profiles of one provider": {
			shoot: "openstack", seed: "gcp", backup: "gcp",
			flags: map[string]bool{"--cloud-provider=external": true, "--more=yes": true, "--acme=yes": false}, calls: 1,
		},
		"another profile's provider": {
			shoot: "acme", seed: "gcp", backup: "gcp",
			flags: map[string]bool{"--cloud-provider=external": false, "--more=yes": false, "--acme=yes": true}, calls: 1,
		},
		"a seed on another cloud": {
			shoot: "gcp", seed: "openstack", backup: "gcp",
			flags: map[string]bool{"--cloud-provider=external": false, "--more=yes": false}, class: "gardener.cloud-fast",
			calls: 1,
		},
		"three clouds": {
			shoot: "openstack", seed: "openstack", backup: "acme",
			flags: map[string]bool{"--cloud-provider=external": true, "--more=yes": true}, class: "gardener.cloud-fast",
			note: "here",
			// The etcd is the exposure's, the backup's, and, since that changed it, once more the exposure's.
			calls: 4,
		},
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		It("with "+name, func(ctx SpecContext) {
			test := all[name]
			namespace := newShoot(ctx, "ns-"+strings.ReplaceAll(name, " ", "-")[:6]+test.shoot[:2]+test.seed[:2]+test.backup[:2],
				test.shoot, func(o *landscape.ShootOptions) {
					o.Seed, o.Labels = landscape.NewSeed(test.seed), test.labels
					o.Seed.Spec.Backup.Provider = test.backup
				})
			manager, main, other := deployment(namespace, "kube-controller-manager"), etcd(namespace, "etcd-main"),
				deployment(namespace, "kube-scheduler")
			p.expectCount(test.calls, "graft_admissions_total", nil, func() {
				create(ctx, manager)
				create(ctx, main)
				if test.shoot != "openstack" { // with a rule that does not apply
					create(ctx, other)
				}
			})
			expectFlags(manager, test.flags)
			class, _, _ := unstructured.NestedString(main.Object, "spec", "storageClass")
			Expect(class).To(Equal(test.class), "the storage class of the etcd")
			Expect(main.GetAnnotations()["acme/backup"]).To(Equal(test.note), "the annotation of the etcd")
		})
	}

	It("calls no webhook for objects that are no targets", func(ctx SpecContext) { testNoTargets(ctx, p) })
	It("calls webhooks in the namespace of the virtual garden if a profile has rules for it",
		func(ctx SpecContext) { testGarden(ctx, p) })
})

// testNoTargets writes objects that are no targets in a namespace with registered webhooks, and checks that Graft is
// never called.
func testNoTargets(ctx context.Context, p *program) {
	namespace := newShoot(ctx, "unrelated", "openstack",
		func(o *landscape.ShootOptions) { o.Seed = landscape.NewSeed("openstack") })
	target := create(ctx, deployment(namespace, "kube-controller-manager"))
	generated := deployment(namespace, "kube-controller-manager")
	generated.SetName("")
	generated.SetGenerateName("kube-controller-manager")
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "kube-apiserver", "namespace": namespace},
	}}
	secret := config.DeepCopy()
	secret.SetKind("Secret")
	p.expectCount(0, "graft_admissions_total", nil, func() {
		for _, object := range []*unstructured.Unstructured{
			deployment(namespace, "gardener-resource-manager"), deployment(namespace, "virtual-garden-kube-apiserver"),
			generated,
			etcd(namespace, "etcd-other"), vpa(namespace, "other-vpa"), config, secret,
		} {
			create(ctx, object)
		}
		for _, object := range controlPlane(ctx, sample.Options{Kubernetes: "1.33.6", Namespace: namespace}) {
			if object.Target == "" || object.Target == "kube-apiserver-service" {
				create(ctx, in(namespace, object))
			}
		}
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
		Expect(land.Client().SubResource("scale").Update(ctx, target, client.WithSubResourceBody(scale))).To(Succeed())
		target = stored(ctx, target)
		Expect(land.Client().Status().Update(ctx, target)).To(Succeed())
		Expect(land.Client().Delete(ctx, target)).To(Succeed())
	})
}

// testGarden serves the virtual garden: nothing is registered until a profile needs it, and its facts come from the
// Garden.
func testGarden(ctx context.Context, p *program) {
	const garden = target.GardenNamespace
	p.expectCount(0, "graft_admissions_total", nil,
		func() { create(ctx, deployment(garden, "virtual-garden-kube-controller-manager")) })

	p.reload("garden.yaml", head("garden", "acme")+`controlplane:
  virtual-garden-kube-apiserver:
  - flags: {set: {constant: "1"}}
  virtual-garden-kube-controller-manager:
  - flags: {set: {minor: "${ garden.kubernetes.minor() }"}}
`)
	want := []string{"controlplane.acme", "controlplane.openstack", "controlplanebackup.acme",
		"controlplaneexposure.openstack", "garden.controlplane"}
	Expect(registered(ctx)).To(Equal(want), "registered webhooks")
	objects, err := sample.VirtualGarden(ctx, sample.Options{})
	Expect(err).NotTo(HaveOccurred())
	server := in(garden, mustFind(objects, "Deployment", "virtual-garden-kube-apiserver"))
	plain := server.DeepCopy()
	plain.SetNamespace(newNamespace(ctx, "garden-plain", nil))
	create(ctx, plain)
	// The Garden is not needed for a constant, and neither is its definition.
	p.expectCount(1, "graft_admissions_total",
		labels{"provider": "garden", "target": "virtual-garden-kube-apiserver", "result": "patched"}, func() {
			create(ctx, server)
		})
	Expect(changes(plain, server)).To(ConsistOf(HaveSuffix(" --constant=1")), "changes by the webhook")
	// Objects of a shoot are not affected, with any name.
	create(ctx, deployment(garden, "kube-controller-manager"))

	manager := stored(ctx, deployment(garden, "virtual-garden-kube-controller-manager"))
	p.expectCount(1, "graft_admission_failures_total", labels{"provider": "garden", "reason": "ClusterMissing"}, func() {
		expectDenied(land.Client().Update(ctx, manager.DeepCopy()), http.StatusServiceUnavailable, "ClusterMissing: ",
			"Garden")
	})
	newGarden(ctx, "1.34.1")
	Eventually(func() error { return land.Client().Update(ctx, manager) }).
		Should(Succeed(), "waiting for the Garden to be known")
	Expect(commandOf(manager)).To(BeComparableTo([]string{"/kube-controller-manager", "--minor=34"}), "the command")
}

// newGarden installs a definition of Garden and makes the only one.
func newGarden(ctx context.Context, kubernetes string) {
	GinkgoHelper()
	preserve := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gardens.operator.gardener.cloud"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "operator.gardener.cloud", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Garden", ListKind: "GardenList", Plural: "gardens",
				Singular: "garden"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
				},
			}},
		},
	}
	Expect(land.Client().Create(ctx, definition)).To(Succeed())
	DeferCleanup(func() {
		Expect(land.Client().Delete(context.Background(), definition)).To(Succeed())
	})
	garden := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "operator.gardener.cloud/v1alpha1", "kind": "Garden", "metadata": map[string]any{"name": "garden"},
		"spec": map[string]any{"virtualCluster": map[string]any{"kubernetes": map[string]any{"version": kubernetes}}},
	}}
	Eventually(func() error { return land.Client().Create(ctx, garden.DeepCopy()) }).
		Should(Succeed(), "waiting for Gardens to be served")
}
