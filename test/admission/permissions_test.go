// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// createAccount makes the ServiceAccount of a program with the rules that its chart has for the values, except the rules of the ClusterRole
// for one resource, and no other.
func createAccount(t *testing.T, namespace string, values map[string]any, without string) *landscape.Account {
	t.Helper()
	options := rulesOfChart(t, namespace, values)
	options.ClusterRules = slices.DeleteFunc(options.ClusterRules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, without) })
	account, err := land.CreateServiceAccount(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// rulesOfChart renders the chart as gardenlet does and reads the rules of its roles.
func rulesOfChart(t *testing.T, namespace string, values map[string]any) landscape.ServiceAccountOptions {
	t.Helper()
	chart, err := loader.LoadDir(filepath.Join(root, "charts", programName))
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: programName, Namespace: namespace, IsInstall: true}
	merged, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, merged)
	if err != nil {
		t.Fatal(err)
	}
	options := landscape.ServiceAccountOptions{Namespace: namespace, Name: programName, Rules: map[string][]rbacv1.PolicyRule{}}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(files[path.Join(programName, "templates", "rbac.yaml")]), 4096)
	for {
		// A Role is a ClusterRole without an aggregation.
		role := rbacv1.ClusterRole{}
		err := decoder.Decode(&role)
		switch {
		case errors.Is(err, io.EOF):
			if len(options.ClusterRules) == 0 || len(options.Rules[namespace]) == 0 {
				t.Fatal("the chart has no ClusterRole or no Role with rules")
			}
			return options
		case err != nil:
			t.Fatal(err)
		case role.Kind == "ClusterRole":
			options.ClusterRules = append(options.ClusterRules, role.Rules...)
		case role.Kind == "Role":
			options.Rules[role.Namespace] = append(options.Rules[role.Namespace], role.Rules...)
		}
	}
}

// TestForbiddenLookup checks that a profile with a forbidden lookup is rejected, and becomes active as soon as the
// permission exists.
func TestForbiddenLookup(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "before")}})
	namespace := newShoot(t, "forbidden", "acme")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: namespace}, StringData: map[string]string{"key": "after"}}
	if err := land.Client().Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	p.writeProfile("acme.yaml", head("acme", "acme")+"lookups: {s: {secret: late, keys: [key]}}\n"+
		"controlplane:\n  kube-controller-manager:\n  - flags: {set: {value: \"${ lookups.s.key }\"}}\n")
	p.log.waitFor(t, "acme.yaml:5:23: lookups.s: the profile acme may not get, list, watch this")
	p.log.waitFor(t, "lookups.secrets: [late]")
	if got := p.counter("graft_profile_reload_failed", nil); got != 1 {
		t.Errorf("graft_profile_reload_failed is %v", got)
	}
	object := create(t, deployment(namespace, "kube-controller-manager"))
	expectFlags(t, object, map[string]bool{"--value=before": true})

	granted := rulesOfChart(t, p.namespace, map[string]any{"lookups": map[string]any{"secrets": []any{"late"}}})
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Rules: granted.ClusterRules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "late"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "late"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: programName, Namespace: p.namespace}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := land.Client().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = land.Client().Delete(context.Background(), object) })
	}
	eventually(t, "the profile to be active", func() error {
		if p.counter("graft_profile_reload_failed", nil) != 0 {
			return errNotYet
		}
		return nil
	})
	if err := land.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	expectFlags(t, object, map[string]bool{"--value=after": true})
}

// TestForbiddenAtStart checks that the objects of such a profile are denied with the missing permission if there is no
// earlier version.
func TestForbiddenAtStart(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": lookup("acme", "late") +
		"  kube-controller-manager:\n  - flags: {set: {value: \"${ lookups.s.password }\"}}\n"}})
	p.log.waitFor(t, "lookups.secrets: [late]")
	err := land.Client().Create(t.Context(), deployment(newShoot(t, "forbidden-start", "acme"), "kube-controller-manager"))
	expectDenied(t, err, 503, "ProfileInvalid", "lookups.secrets: [late]")
}
