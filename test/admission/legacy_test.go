// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// plugins are the admission plugins of the older generation's kube-apiserver without PersistentVolumeLabel.
const plugins = "NamespaceLifecycle,LimitRanger,ServiceAccount,NodeRestriction,DefaultStorageClass,DefaultTolerationSeconds," +
	"PodSecurityPolicy,Priority,ResourceQuota,MutatingAdmissionWebhook,ValidatingAdmissionWebhook"

// wantLegacy are the changes of the OpenStack profile on a control plane of the older generation, with a Service of
// type LoadBalancer.
var wantLegacy = map[string][]string{
	"Deployment kube-apiserver": {
		"~ /spec/template/spec/containers/0/command/1 --enable-admission-plugins=" +
			"NamespaceLifecycle,LimitRanger,ServiceAccount,NodeRestriction,DefaultStorageClass,DefaultTolerationSeconds,PersistentVolumeLabel," +
			"PodSecurityPolicy,Priority,ResourceQuota,MutatingAdmissionWebhook,ValidatingAdmissionWebhook -> --enable-admission-plugins=" + plugins,
		"~ /spec/template/spec/containers/0/command/2 --disable-admission-plugins=AlwaysPullImages -> --disable-admission-plugins=AlwaysPullImages,PersistentVolumeLabel",
	},
	"Deployment kube-controller-manager": {"+ /spec/template/spec/containers/0/command/31 --cloud-provider=external"},
	"Service kube-apiserver":             {"+ /metadata/annotations/loadbalancer.openstack.org~1keep-floatingip true"},
	"StatefulSet etcd-events":            {"+ /spec/volumeClaimTemplates/0/spec/storageClassName gardener.cloud-fast"},
	"StatefulSet etcd-main":              {"+ /spec/volumeClaimTemplates/0/spec/storageClassName gardener.cloud-fast"},
}

// TestFlowLegacy serves the older generation: StatefulSets, flags in the command, and a Service that may be Gardener's.
func TestFlowLegacy(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"openstack": ""}, Arguments: []string{"--gardener-version=v1.20.0"}})
	for name, test := range map[string]struct {
		options sample.LegacyOptions
		leave   string // unchanged in this case
	}{
		"load balancer": {},
		"SNI":           {sample.LegacyOptions{SNI: true}, "Service kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			suffix := map[bool]string{true: "sni", false: "lb"}[test.options.SNI]
			namespace := newShoot(t, "legacy-"+suffix, "openstack", version("1.20.15"))
			plain := newNamespace(t, "legacy-plain-"+suffix, nil)
			want := maps.Clone(wantLegacy)
			delete(want, test.leave)
			objects, err := sample.Legacy(test.options)
			if err != nil {
				t.Fatal(err)
			}
			expectCreated(t, objects, plain, namespace, want)

			for _, object := range objects {
				sent := in(t, namespace, object)
				if want[nameOf(sent)] == nil || sent.GetKind() == "Service" {
					continue
				}
				expectUnchanged(t, p, object.Target, sent)
			}
			for _, name := range []string{"kube-apiserver", "kube-controller-manager"} {
				expectReset(t, p, in(t, namespace, mustFind(t, objects, "Deployment", name)))
			}
			expectKeptTemplate(t, in(t, namespace, mustFind(t, objects, "StatefulSet", "etcd-main")))
		})
	}
	if got, want := registered(t), []string{"controlplane.openstack", "controlplaneexposure.openstack"}; !slices.Equal(got, want) {
		t.Errorf("registered is %q, want %q", got, want)
	}
}

// expectKeptTemplate updates a StatefulSet with Gardener's version. The API server rejects a changed volume claim
// template, so the update fails unless the webhook keeps it.
func expectKeptTemplate(t *testing.T, wanted *unstructured.Unstructured) {
	t.Helper()
	before := stored(t, wanted)
	wanted.SetResourceVersion(before.GetResourceVersion())
	if err := land.Client().Update(t.Context(), wanted); err != nil {
		t.Fatalf("updating %s: %v", nameOf(wanted), err)
	}
	if diff := cmp.Diff([]string(nil), changes(before, wanted)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", nameOf(wanted), diff)
	}
}

// mustFind is an object of a sample.
func mustFind(t *testing.T, objects []sample.Object, kind, name string) sample.Object {
	t.Helper()
	object, found := sample.Find(objects, kind, name)
	if !found {
		t.Fatalf("the sample has no %s %s", kind, name)
	}
	return object
}
