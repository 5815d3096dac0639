// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const withLookups = `
apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: p}
providers: [acme]
lookups:
  credentials: {secret: cloudprovider, keys: [region]}
  again: {secret: cloudprovider, keys: [token]}
  settings: {configMap: cloud-settings, keys: [mtu]}
  network: {infrastructure: "${ shoot.name }", paths: {nodes: status.nodesCIDR}}
  policy: {object: {apiVersion: acme.cloud/v1, kind: Policy, name: defaults}, paths: {a: spec.a}}
controlplane:
  kube-apiserver:
  - podAnnotations: {set: {a: "${ lookups.credentials.region + lookups.settings.mtu + lookups.network.nodes + lookups.policy.a }"}}
`

func load(t *testing.T, text string) []*profile.Document {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "profile.yaml", Data: []byte(text)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return documents
}

// TestPermissions reads the real chart, so that a change of its template that this program cannot follow is seen here.
func TestPermissions(t *testing.T) {
	program, err := mutation.Compile(load(t, withLookups), mutation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reads := program.Reads()
	got, err := permissions("../..", reads)
	if err != nil {
		t.Fatal(err)
	}
	if got.Namespace != extensionNamespace || got.Name != extensionName {
		t.Errorf("the account is %s/%s", got.Namespace, got.Name)
	}
	for _, want := range []rbacv1.PolicyRule{
		{APIGroups: []string{"extensions.gardener.cloud"}, Resources: []string{"clusters"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"cloudprovider"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cloud-settings"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"acme.cloud"}, Resources: []string{"policies"}, ResourceNames: []string{"defaults"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"extensions.gardener.cloud"}, Resources: []string{"infrastructures"}, Verbs: []string{"get"}},
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"},
			ResourceNames: []string{clusterName, extensionName}, Verbs: []string{"get", "update", "delete"},
		},
	} {
		if !slices.ContainsFunc(got.ClusterRules, func(rule rbacv1.PolicyRule) bool { return cmp.Equal(want, rule) }) {
			t.Errorf("the cluster role lacks %+v; it has %+v", want, got.ClusterRules)
		}
	}
	if len(got.Rules) != 1 || len(got.Rules[extensionNamespace]) == 0 {
		t.Errorf("got the roles %+v, want one in %s", got.Rules, extensionNamespace)
	}
	none, err := permissions("../..", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(got.ClusterRules) - 4; len(none.ClusterRules) != want {
		t.Errorf("got %d rules without lookups, want %d: four less than with them", len(none.ClusterRules), want)
	}
}

func TestPermissionsErrors(t *testing.T) {
	if _, err := permissions(t.TempDir(), nil); err == nil {
		t.Error("a missing chart must be an error")
	}
	for name, text := range map[string]string{
		"no template":       "{{",
		"another helper":    `{{ include "graft.other" . }}`,
		"an unknown value":  `{{ .Values.other.field }}`,
		"an unknown helper": `{{ fancy . }}`,
	} {
		if _, err := renderRoles(text, nil); err == nil {
			t.Errorf("%s must be an error", name)
		}
	}
	for name, text := range map[string]string{
		"nothing":   "",
		"no role":   "kind: ClusterRole\nrules:\n- {verbs: [get]}\n",
		"not a map": "- a\n",
	} {
		if _, err := decodeRoles([]byte(text)); err == nil {
			t.Errorf("%s must be an error", name)
		}
	}
}

// TestProvide holds that keys are added to what is there already, and that edited ones stay.
func TestProvide(t *testing.T) {
	ctx := context.Background()
	at := metav1.ObjectMeta{Namespace: "shoot--a--b", Name: "cloudprovider"}
	c := fake.NewClientBuilder().WithObjects(
		&corev1.Secret{ObjectMeta: at, Data: map[string][]byte{"region": []byte("edited")}},
	).Build()
	g := &stage{client: c, namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: at.Namespace}}}
	for range 2 {
		if err := g.provide(ctx, load(t, withLookups)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.provide(ctx, load(t, strings.Replace(withLookups, "keys: [mtu]", "keys: [mtu, more]", 1))); err != nil {
		t.Fatal(err)
	}
	var (
		secret    corev1.Secret
		configMap corev1.ConfigMap
	)
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, &secret); err != nil {
		t.Fatal(err)
	}
	if _, written := secret.StringData["region"]; written || string(secret.Data["region"]) != "edited" {
		t.Errorf("the edited key is written again: %v", secret.StringData)
	}
	if secret.StringData["token"] != "sample-token" && string(secret.Data["token"]) != "sample-token" {
		t.Errorf("the key that was missing is not there: %v, %v", secret.Data, secret.StringData)
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: "cloud-settings"}, &configMap); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"mtu": "sample-mtu", "more": "sample-more"}, configMap.Data); diff != "" {
		t.Errorf("the ConfigMap (-want +got):\n%s", diff)
	}
}

func TestLookedUp(t *testing.T) {
	var got []string
	for _, object := range lookedUp("shoot--a--b", load(t, withLookups)) {
		keys := ""
		switch object := object.(type) {
		case *corev1.Secret:
			keys = fmt.Sprint(object.StringData)
		case *corev1.ConfigMap:
			keys = fmt.Sprint(object.Data)
		}
		got = append(got, object.GetNamespace()+"/"+object.GetName()+" "+keys)
	}
	slices.Sort(got)
	want := []string{
		"shoot--a--b/cloud-settings map[mtu:sample-mtu]",
		"shoot--a--b/cloudprovider map[region:sample-region token:sample-token]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
