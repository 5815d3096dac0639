// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
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
  service: {object: {apiVersion: v1, kind: Service, name: "${ object.name + '-extra' }"}, paths: {port: "spec.ports[name=metrics].port"}, annotations: [tier]}
  proxy: {configMap: proxy, keys: [url], missing: skip}
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
  - flags: {set: {proxy: "${ lookups.proxy.url }"}}
  - podAnnotations: {set: {checksum/cloud: "${ lookups.cloud.checksum }"}}
`

// TestLookups checks lookups of all kinds with the permissions of the chart: changes of the objects are noticed, and
// values of Secrets appear in the mutated object only.
func TestLookups(t *testing.T) {
	p := start(t, programOptions{
		Profiles: map[string]string{"seeker": lookingUp},
		Values: map[string]any{"lookups": map[string]any{
			"secrets": []any{"cloudprovider"}, "configMaps": []any{"proxy"}, "objects": []any{
				map[string]any{"group": "extensions.gardener.cloud", "resource": "infrastructures"},
				map[string]any{"group": "extensions.gardener.cloud", "resource": "backupbuckets"},
				map[string]any{"group": "", "resource": "services"},
			},
		}},
	})
	namespace := newShoot(t, "seeker", "seeker")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider", Labels: map[string]string{"cloud.example.com/region": "eu-1"}},
		StringData: map[string]string{"password": secretValue, "other": "x"},
	}
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "seeker"}}
	infrastructure.Spec.Type, infrastructure.Spec.Region = "seeker", "eu-1"
	infrastructure.Spec.SecretRef.Name = "cloudprovider"
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-controller-manager-extra", Annotations: map[string]string{"tier": "gold"}}}
	service.Spec.Ports = []corev1.ServicePort{{Name: "other", Port: 1}, {Name: "metrics", Port: 9090}}
	for _, object := range []client.Object{secret, service} {
		if err := land.Client().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}

	// The Infrastructure is required, and not there.
	object := deployment(namespace, "kube-controller-manager")
	err := land.Client().Create(t.Context(), object)
	if err == nil || !strings.Contains(err.Error(), "LookupMissing: profile seeker: lookup network: reading the Infrastructure seeker: not found") {
		t.Fatalf("without the Infrastructure: %v", err)
	}
	if err := land.Client().Create(t.Context(), infrastructure); err != nil {
		t.Fatal(err)
	}
	nodes := "10.250.0.0/16"
	infrastructure.Status.NodesCIDR = &nodes
	if err := land.Client().Status().Update(t.Context(), infrastructure); err != nil {
		t.Fatal(err)
	}

	created := create(t, deployment(namespace, "kube-controller-manager"))
	expectFlags(t, created, map[string]bool{
		"--password=" + secretValue: true, "--cloud-region=eu-1": true, "--nodes=10.250.0.0/16": true, "--bucket=none": true,
		"--extra=9090": true, "--tier=gold": true, "--proxy=": false,
	})
	p.expectCount(t, 1, "graft_rules_total", labels{"profile": "seeker", "rule": "kube-controller-manager[1].flags", "result": "skipped"}, func() {
		writeAgain(t, created, "1")
	})

	// Watched objects are read again soon after a change; missing ones may appear.
	secret.Labels["cloud.example.com/region"] = "eu-2"
	if err := land.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	proxy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "proxy"}, Data: map[string]string{"url": "http://proxy"}}
	if err := land.Client().Create(t.Context(), proxy); err != nil {
		t.Fatal(err)
	}
	step := 1
	eventually(t, "the change of the Secret is seen", func() error {
		step++
		command := commandOf(t, writeAgain(t, created, fmt.Sprint(step)))
		if !slices.Contains(command, "--cloud-region=eu-2") || !slices.Contains(command, "--proxy=http://proxy") {
			return errors.New(strings.Join(command, " "))
		}
		return nil
	})
	if strings.Contains(p.log.String(), secretValue) {
		t.Error("the log holds a value of the Secret")
	}
	for _, line := range strings.Split(p.log.String(), "\n") {
		if strings.Contains(line, "forbidden") {
			t.Errorf("something is not allowed: %s", line)
		}
	}
}

// writeAgain writes a Deployment as Gardener would again, and returns the result.
func writeAgain(t *testing.T, created *unstructured.Unstructured, step string) *unstructured.Unstructured {
	t.Helper()
	object := deployment(created.GetNamespace(), created.GetName())
	object.SetAnnotations(map[string]string{"step": step})
	if err := land.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}
