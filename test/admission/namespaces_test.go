// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

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
	return head(name, provider) + "controlplane:\n  kube-controller-manager:\n  - flags: {set: {" + flag + ": " + value + "}}\n"
}

// TestNamespaces checks that a webhook acts only in namespaces with the label of its provider.
func TestNamespaces(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{
		"openstack": "",
		"more":      setFlag("more", "openstack", "more", "yes"),
		"acme":      setFlag("acme", "acme", "acme", "yes") + "controlplanebackup:\n  etcd-main:\n  - annotations: {set: {acme/backup: here}}\n",
	}})
	want := []string{"controlplane.acme", "controlplane.openstack", "controlplanebackup.acme", "controlplaneexposure.openstack"}
	if got := registered(t); !slices.Equal(got, want) {
		t.Fatalf("registered is %q, want %q", got, want)
	}

	for name, test := range map[string]struct {
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
			labels: map[string]string{"shoot.gardener.cloud/provider": "", "seed.gardener.cloud/provider": "", "backup.gardener.cloud/provider": ""},
			flags:  map[string]bool{"--cloud-provider=external": false, "--more=yes": false},
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
			flags: map[string]bool{"--cloud-provider=external": false, "--more=yes": false}, class: "gardener.cloud-fast", calls: 1,
		},
		"three clouds": {
			shoot: "openstack", seed: "openstack", backup: "acme",
			flags: map[string]bool{"--cloud-provider=external": true, "--more=yes": true}, class: "gardener.cloud-fast", note: "here",
			// The etcd is the exposure's, the backup's, and, since that changed it, once more the exposure's.
			calls: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := newShoot(t, "ns-"+strings.ReplaceAll(name, " ", "-")[:6]+test.shoot[:2]+test.seed[:2]+test.backup[:2], test.shoot, func(o *landscape.ShootOptions) {
				o.Seed, o.Labels = landscape.NewSeed(test.seed), test.labels
				o.Seed.Spec.Backup.Provider = test.backup
			})
			manager, main, other := deployment(namespace, "kube-controller-manager"), etcd(namespace, "etcd-main"), deployment(namespace, "kube-scheduler")
			p.expectCount(t, test.calls, "graft_admissions_total", nil, func() {
				create(t, manager)
				create(t, main)
				if test.shoot != "openstack" { // with a rule that does not apply
					create(t, other)
				}
			})
			expectFlags(t, manager, test.flags)
			class, _, _ := unstructured.NestedString(main.Object, "spec", "storageClass")
			if note := main.GetAnnotations()["acme/backup"]; class != test.class || note != test.note {
				t.Errorf("the etcd has storage class %q and annotation %q, want %q and %q", class, note, test.class, test.note)
			}
		})
	}
	t.Run("objects that are no targets", func(t *testing.T) { testNoTargets(t, p) })
	t.Run("the garden", func(t *testing.T) { testGarden(t, p) })
}

// testNoTargets writes objects that are no targets in a namespace with registered webhooks, and checks that Graft is
// never called.
func testNoTargets(t *testing.T, p *program) {
	namespace := newShoot(t, "unrelated", "openstack", func(o *landscape.ShootOptions) { o.Seed = landscape.NewSeed("openstack") })
	target := create(t, deployment(namespace, "kube-controller-manager"))
	generated := deployment(namespace, "kube-controller-manager")
	generated.SetName("")
	generated.SetGenerateName("kube-controller-manager")
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "kube-apiserver", "namespace": namespace},
	}}
	secret := config.DeepCopy()
	secret.SetKind("Secret")
	p.expectCount(t, 0, "graft_admissions_total", nil, func() {
		for _, object := range []*unstructured.Unstructured{
			deployment(namespace, "gardener-resource-manager"), deployment(namespace, "virtual-garden-kube-apiserver"), generated,
			etcd(namespace, "etcd-other"), vpa(namespace, "other-vpa"), config, secret,
		} {
			create(t, object)
		}
		for _, object := range controlPlane(t, sample.Options{Kubernetes: "1.33.6", Namespace: namespace}) {
			if object.Target == "" || object.Target == sample.TargetKubeAPIServerService {
				create(t, in(t, namespace, object))
			}
		}
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
		if err := land.Client().SubResource("scale").Update(t.Context(), target, client.WithSubResourceBody(scale)); err != nil {
			t.Fatal(err)
		}
		target = stored(t, target)
		if err := land.Client().Status().Update(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if err := land.Client().Delete(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	})
}

// testGarden serves the virtual garden: nothing is registered until a profile asks for it, and its facts are those of the Garden.
func testGarden(t *testing.T, p *program) {
	const garden = target.GardenNamespace
	p.expectCount(t, 0, "graft_admissions_total", nil, func() { create(t, deployment(garden, "virtual-garden-kube-controller-manager")) })

	p.reload("garden.yaml", head("garden", "acme")+`controlplane:
  virtual-garden-kube-apiserver:
  - flags: {set: {constant: "1"}}
  virtual-garden-kube-controller-manager:
  - flags: {set: {minor: "${ garden.kubernetes.minor() }"}}
`)
	want := []string{"controlplane.acme", "controlplane.openstack", "controlplanebackup.acme", "controlplaneexposure.openstack", "garden.controlplane"}
	if got := registered(t); !slices.Equal(got, want) {
		t.Errorf("registered is %q, want %q", got, want)
	}
	objects, err := sample.VirtualGarden(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := in(t, garden, mustFind(t, objects, "Deployment", "virtual-garden-kube-apiserver"))
	plain := server.DeepCopy()
	plain.SetNamespace(newNamespace(t, "garden-plain", nil))
	create(t, plain)
	// The Garden is not needed for a constant, and neither is its definition.
	p.expectCount(t, 1, "graft_admissions_total", labels{"provider": "garden", "target": "virtual-garden-kube-apiserver", "result": "patched"}, func() {
		create(t, server)
	})
	if got := changes(plain, server); len(got) != 1 || !strings.HasSuffix(got[0], " --constant=1") {
		t.Errorf("what the webhook changes: %q", got)
	}
	// Objects of a shoot are not affected, with any name.
	create(t, deployment(garden, "kube-controller-manager"))

	manager := stored(t, deployment(garden, "virtual-garden-kube-controller-manager"))
	p.expectCount(t, 1, "graft_admission_failures_total", labels{"provider": "garden", "reason": "ClusterMissing"}, func() {
		expectDenied(t, land.Client().Update(t.Context(), manager.DeepCopy()), http.StatusServiceUnavailable, "ClusterMissing: ", "Garden")
	})
	newGarden(t, "1.34.1")
	eventually(t, "the Garden to be known", func() error { return land.Client().Update(t.Context(), manager) })
	if diff := cmp.Diff([]string{"/kube-controller-manager", "--minor=34"}, commandOf(t, manager)); diff != "" {
		t.Errorf("the command (-want +got):\n%s", diff)
	}
}

// newGarden installs a definition of Garden and makes the only one.
func newGarden(t *testing.T, kubernetes string) {
	t.Helper()
	preserve := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gardens.operator.gardener.cloud"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "operator.gardener.cloud", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Garden", ListKind: "GardenList", Plural: "gardens", Singular: "garden"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
				},
			}},
		},
	}
	if err := land.Client().Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := land.Client().Delete(context.Background(), definition); err != nil {
			t.Error(err)
		}
	})
	garden := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "operator.gardener.cloud/v1alpha1", "kind": "Garden", "metadata": map[string]any{"name": "garden"},
		"spec": map[string]any{"virtualCluster": map[string]any{"kubernetes": map[string]any{"version": kubernetes}}},
	}}
	eventually(t, "Gardens to be served", func() error { return land.Client().Create(t.Context(), garden.DeepCopy()) })
}
