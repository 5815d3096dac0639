// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

// plugins are the admission plugins of the older generation's kube-apiserver without PersistentVolumeLabel.
const plugins = "NamespaceLifecycle,LimitRanger,ServiceAccount,NodeRestriction,DefaultStorageClass," +
	"DefaultTolerationSeconds," +
	"PodSecurityPolicy,Priority,ResourceQuota,MutatingAdmissionWebhook,ValidatingAdmissionWebhook"

// wantLegacy are the changes of the OpenStack profile on a control plane of the older generation, with a Service of
// type LoadBalancer.
var wantLegacy = map[string][]string{
	"Deployment kube-apiserver": {
		"~ /spec/template/spec/containers/0/command/1 --enable-admission-plugins=" +
			"NamespaceLifecycle,LimitRanger,ServiceAccount,NodeRestriction,DefaultStorageClass," +
			"DefaultTolerationSeconds,PersistentVolumeLabel," +
			"PodSecurityPolicy,Priority,ResourceQuota,MutatingAdmissionWebhook,ValidatingAdmissionWebhook -> " +
			"--enable-admission-plugins=" + plugins,
		"~ /spec/template/spec/containers/0/command/2 --disable-admission-plugins=AlwaysPullImages -> " +
			"--disable-admission-plugins=AlwaysPullImages,PersistentVolumeLabel",
	},
	"Deployment kube-controller-manager": {"+ /spec/template/spec/containers/0/command/31 --cloud-provider=external"},
	"Service kube-apiserver":             {"+ /metadata/annotations/loadbalancer.openstack.org~1keep-floatingip true"},
	"StatefulSet etcd-events":            {"+ /spec/volumeClaimTemplates/0/spec/storageClassName gardener.cloud-fast"},
	"StatefulSet etcd-main":              {"+ /spec/volumeClaimTemplates/0/spec/storageClassName gardener.cloud-fast"},
}

// The older generation has StatefulSets, flags in the command, and a Service that may be Gardener's.
var _ = Describe("the admission of a control plane of the older generation", Ordered, func() {
	var p *program

	BeforeAll(func(ctx SpecContext) {
		p = start(ctx, programOptions{Profiles: map[string]string{"openstack": ""},
			Arguments: []string{"--gardener-version=v1.20.0"}})
	})

	all := map[string]struct {
		options sample.LegacyOptions
		leave   string // unchanged in this case
	}{
		"a load balancer": {},
		"SNI":             {sample.LegacyOptions{SNI: true}, "Service kube-apiserver"},
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		It("mutates every object, with the Service of a kube-apiserver behind "+name, func(ctx SpecContext) {
			test := all[name]
			suffix := map[bool]string{true: "sni", false: "lb"}[test.options.SNI]
			namespace := newShoot(ctx, "legacy-"+suffix, "openstack", version("1.20.15"))
			plain := newNamespace(ctx, "legacy-plain-"+suffix, nil)
			want := maps.Clone(wantLegacy)
			delete(want, test.leave)
			objects, err := sample.Legacy(test.options)
			Expect(err).NotTo(HaveOccurred())
			expectCreated(ctx, objects, plain, namespace, want)

			for _, object := range objects {
				sent := in(namespace, object)
				if want[nameOf(sent)] == nil || sent.GetKind() == "Service" {
					continue
				}
				expectUnchanged(ctx, p, object.Target, sent)
			}
			for _, name := range []string{"kube-apiserver", "kube-controller-manager"} {
				expectReset(ctx, p, in(namespace, mustFind(objects, "Deployment", name)))
			}
			expectKeptTemplate(ctx, in(namespace, mustFind(objects, "StatefulSet", "etcd-main")))
		})
	}

	It("needs two webhooks", func(ctx SpecContext) {
		Expect(registered(ctx)).To(Equal([]string{"controlplane.openstack", "controlplaneexposure.openstack"}),
			"registered webhooks")
	})
})

// expectKeptTemplate updates a StatefulSet with Gardener's version. The API server rejects a changed volume claim
// template, so the update fails unless the webhook keeps it.
func expectKeptTemplate(ctx context.Context, wanted *unstructured.Unstructured) {
	GinkgoHelper()
	before := stored(ctx, wanted)
	wanted.SetResourceVersion(before.GetResourceVersion())
	Expect(land.Client().Update(ctx, wanted)).To(Succeed(), "updating %s", nameOf(wanted))
	Expect(changes(before, wanted)).To(BeEmpty(), "%s", nameOf(wanted))
}

// mustFind is an object of a sample.
func mustFind(objects []sample.Object, kind, name string) sample.Object {
	GinkgoHelper()
	object, found := samples.Find(objects, kind, name)
	Expect(found).To(BeTrue(), "the sample has a %s %s", kind, name)
	return object
}
