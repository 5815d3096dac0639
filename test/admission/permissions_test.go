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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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

// createAccount makes the ServiceAccount of a program with the rules that its chart has for the values, except the
// rules of the ClusterRole for one resource, and no other.
func createAccount(ctx context.Context, namespace string, values map[string]any, without string) *landscape.Account {
	GinkgoHelper()
	options := rulesOfChart(namespace, values)
	options.ClusterRules = slices.DeleteFunc(options.ClusterRules,
		func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, without) })
	account, err := land.CreateServiceAccount(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	return account
}

// rulesOfChart renders the chart as gardenlet does and reads the rules of its roles.
func rulesOfChart(namespace string, values map[string]any) landscape.ServiceAccountOptions {
	GinkgoHelper()
	chart, err := loader.LoadDir(filepath.Join(root, "charts", programName))
	Expect(err).NotTo(HaveOccurred())
	release := chartutil.ReleaseOptions{Name: programName, Namespace: namespace, IsInstall: true}
	merged, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	Expect(err).NotTo(HaveOccurred())
	files, err := engine.Render(chart, merged)
	Expect(err).NotTo(HaveOccurred())
	options := landscape.ServiceAccountOptions{Namespace: namespace, Name: programName,
		Rules: map[string][]rbacv1.PolicyRule{}}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(files[path.Join(programName, "templates", "rbac.yaml")]),
		4096)
	for {
		// A Role is a ClusterRole without an aggregation.
		role := rbacv1.ClusterRole{}
		err := decoder.Decode(&role)
		if !errors.Is(err, io.EOF) {
			Expect(err).NotTo(HaveOccurred(), "reading the roles of the chart")
		}
		switch {
		case err != nil:
			Expect(options.ClusterRules).NotTo(BeEmpty(), "rules of the ClusterRole")
			Expect(options.Rules[namespace]).NotTo(BeEmpty(), "rules of the Role")
			return options
		case role.Kind == "ClusterRole":
			options.ClusterRules = append(options.ClusterRules, role.Rules...)
		case role.Kind == "Role":
			options.Rules[role.Namespace] = append(options.Rules[role.Namespace], role.Rules...)
		}
	}
}

var _ = Describe("a profile with a lookup that the role does not permit", func() {
	It("is refused while it runs, and active as soon as it has the permission", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "before")}})
		namespace := newShoot(ctx, "forbidden", "acme")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: namespace},
			StringData: map[string]string{"key": "after"}}
		Expect(land.Client().Create(ctx, secret)).To(Succeed())
		p.writeProfile("acme.yaml", head("acme", "acme")+"lookups: {s: {secret: late, keys: [key]}}\n"+
			"controlplane:\n  kube-controller-manager:\n  - flags: {set: {value: \"${ lookups.s.key }\"}}\n")
		p.log.waitFor("acme.yaml:5:23: lookups.s: the profile acme has no permission to get this")
		p.log.waitFor("lookups.secrets: [late]")
		Eventually(p.counter).WithArguments("graft_profile_reload_failed", labels(nil)).
			Should(BeNumerically("==", 1), "graft_profile_reload_failed")
		object := create(ctx, deployment(namespace, "kube-controller-manager"))
		expectFlags(object, map[string]bool{"--value=before": true})

		granted := rulesOfChart(p.namespace, map[string]any{"lookups": map[string]any{"secrets": []any{"late"}}})
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Rules: granted.ClusterRules}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "late"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "late"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: programName, Namespace: p.namespace}},
		}
		for _, object := range []client.Object{role, binding} {
			Expect(land.Client().Create(ctx, object)).To(Succeed())
			DeferCleanup(func() { _ = land.Client().Delete(context.Background(), object) })
		}
		Eventually(func() error {
			if p.counter("graft_profile_reload_failed", nil) != 0 {
				return errNotYet
			}
			return nil
		}).Should(Succeed(), "waiting for the profile to be active")
		Expect(land.Client().Update(ctx, object)).To(Succeed())
		expectFlags(object, map[string]bool{"--value=after": true})
	})
})

var _ = Describe("a profile with a lookup that the role does not permit, at the start,", func() {
	It("denies its objects with the missing permission", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": lookup("acme", "late") +
			"  kube-controller-manager:\n  - flags: {set: {value: \"${ lookups.s.password }\"}}\n"}})
		p.log.waitFor("lookups.secrets: [late]")
		err := land.Client().Create(ctx, deployment(newShoot(ctx, "forbidden-start", "acme"), "kube-controller-manager"))
		expectDenied(err, 503, "ProfileInvalid", "lookups.secrets: [late]")
	})
})
