// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// expectRegistration checks whether a program has a registration of its own.
func (p *program) expectRegistration(ctx context.Context, want bool) {
	GinkgoHelper()
	Eventually(func() error {
		found := &admissionregistrationv1.MutatingWebhookConfiguration{}
		err := land.Client().Get(ctx, client.ObjectKey{Name: programName + "." + p.namespace}, found)
		if client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) == want {
			return fmt.Errorf("got %v", err)
		}
		return nil
	}).Should(Succeed(), "the registration of %s (%v)", p.namespace, want)
}

// deleteNamespace begins the deletion of a namespace, which never ends here: nothing empties namespaces.
func deleteNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(land.Client().Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
}

var _ = Describe("a seed that moves from one installation to another", func() {
	It("has each object mutated once, at every step", func(ctx SpecContext) {
		flag := func(value string) map[string]string {
			return map[string]string{"acme": setFlag("acme", "acme", "value", value)}
		}
		shoot := newShoot(ctx, "moved", "acme")
		written := func(p *program, value string, silent ...*program) {
			GinkgoHelper()
			selected := labels{"result": "patched"}
			before := make([]float64, len(silent))
			for at, other := range silent {
				before[at] = other.counter("graft_admissions_total", selected)
			}
			p.expectCount(1, "graft_admissions_total", selected, func() {
				object := deployment(shoot, "kube-controller-manager")
				Expect(client.IgnoreNotFound(land.Client().Delete(ctx, object.DeepCopy()))).To(Succeed())
				expectFlags(create(ctx, object), map[string]bool{"--value=" + value: true})
			})
			for at, other := range silent {
				Expect(other.counter("graft_admissions_total", selected)).To(BeNumerically("==", before[at]),
					"objects that %s has changed", other.namespace)
			}
		}
		oldest := start(ctx, programOptions{Profiles: flag("oldest"), Namespace: "extension-oldest"})
		written(oldest, "oldest")

		// The namespaces of installations differ in their age by a second at least.
		time.Sleep(1100 * time.Millisecond)
		newer := start(ctx, programOptions{Profiles: flag("newer"), Namespace: "extension-newer"})
		time.Sleep(1100 * time.Millisecond)
		newest := start(ctx, programOptions{Profiles: flag("newest"), Namespace: "extension-newest"})
		for _, p := range []*program{oldest, newer} {
			p.log.waitFor("Newer installations serve these webhooks; this installation does not")
		}
		for _, p := range []*program{oldest, newer, newest} {
			p.expectRegistration(ctx, true)
		}
		written(newest, "newest", oldest, newer)

		// The newest one is removed: the one before serves earlier than the newest one is deleted.
		deleteNamespace(ctx, newest.namespace)
		newest.expectRegistration(ctx, false)
		newer.expectRegistration(ctx, true)
		syncWebhooks(ctx)
		written(newer, "newer", oldest)
		newest.stop()
		newest.expectRegistration(ctx, false)

		deleteNamespace(ctx, oldest.namespace)
		oldest.expectRegistration(ctx, false)
		oldest.stop()
		newer.expectRegistration(ctx, true)
		written(newer, "newer")
	})
})

var _ = Describe("a program that stops", func() {
	It("leaves its registration, unless its installation is removed", func(ctx SpecContext) {
		profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
		p := start(ctx, programOptions{Profiles: profiles})
		Expect(p.stop()).To(BeNumerically("==", 0), "exit status of the program")
		p.expectRegistration(ctx, true)
		next := start(ctx, programOptions{Profiles: profiles, Beside: p})
		deleteNamespace(ctx, p.namespace)
		Expect(next.stop()).To(BeNumerically("==", 0), "exit status of the program")
		found := &admissionregistrationv1.MutatingWebhookConfiguration{}
		key := client.ObjectKey{Name: programName + "." + p.namespace}
		Expect(land.Client().Get(ctx, key, found)).
			To(MatchError(apierrors.IsNotFound, "IsNotFound"), "reading the registration after the removal")
	})
})

var _ = Describe("the webhook server", func() {
	It("answers only callers that know the secret path, which neither metrics nor logs contain", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}})
		const plain = "/webhooks/controlplane/acme"
		caller := p.client(ctx)
		post := func(path string) (int, string) {
			GinkgoHelper()
			response, err := caller.Post("https://"+p.Webhook+path, "application/json", strings.NewReader("{}"))
			Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close()
			body := &bytes.Buffer{}
			Expect(body.ReadFrom(response.Body)).Error().NotTo(HaveOccurred())
			return response.StatusCode, body.String()
		}
		p.expectCount(2, "graft_unauthorized_reviews_total", labels{"missing": "path"}, func() {
			for _, path := range []string{plain, "/webhooks/0123456789abcdef0123456789abcdef/controlplane/acme"} {
				status, body := post(path)
				Expect(status).To(Equal(http.StatusNotFound), "status of %s", path)
				Expect(body).To(BeEmpty(), "body of %s", path)
			}
		})
		path := segmented(ctx, plain)
		status, _ := post(path)
		Expect(status).To(Equal(http.StatusBadRequest), "status with the secret segment")
		_, metrics, err := get("http://" + p.Metrics + "/metrics")
		segment := strings.Split(path, "/")[2]
		Expect(err).NotTo(HaveOccurred(), "reading the metrics")
		Expect(segment).To(HaveLen(32), "the secret segment")
		Expect(metrics).NotTo(ContainSubstring(segment), "metrics of the program")
		Expect(p.log.String()).NotTo(ContainSubstring(segment), "the log of the program")
	})
})

var _ = Describe("the webhook server with a client CA", func() {
	It("answers only callers with a certificate of it that know the path", func(ctx SpecContext) {
		trusted, stranger := env.NewAuthority(GinkgoTB()), env.NewAuthority(GinkgoTB())
		file := filepath.Join(GinkgoT().TempDir(), "ca.crt")
		Expect(os.WriteFile(file, trusted.PEM, 0o600)).To(Succeed())
		p := start(ctx, programOptions{
			Profiles:  map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
			Arguments: []string{"--client-ca=" + file},
		})
		const plain = "/webhooks/controlplane/acme"
		post := func(path string, certificates ...tls.Certificate) (int, error) {
			caller := p.client(ctx)
			caller.Transport.(*http.Transport).TLSClientConfig.Certificates = certificates
			response, err := caller.Post("https://"+p.Webhook+path, "application/json", strings.NewReader("{}"))
			if err != nil {
				return 0, err
			}
			return response.StatusCode, response.Body.Close()
		}
		path := segmented(ctx, plain)
		p.expectCount(1, "graft_unauthorized_reviews_total", labels{"missing": "certificate"}, func() {
			Expect(post(path)).To(Equal(http.StatusForbidden), "status without a certificate")
		})
		Expect(post(path, trusted.Pair("kube-apiserver"))).To(Equal(http.StatusBadRequest), "status with a certificate")
		Expect(post(plain, trusted.Pair("kube-apiserver"))).To(Equal(http.StatusNotFound), "status with only a certificate")
		if status, err := post(path, stranger.Pair("kube-apiserver")); err == nil {
			Expect(status).To(Equal(http.StatusForbidden), "status with a certificate of another authority")
		}
	})
})

var _ = Describe("an extension without its Secrets", func() {
	It("issues certificates and registers again within seconds", func(ctx SpecContext) {
		p := start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}})
		shoot := newShoot(ctx, "lost", "acme")
		before := registration(ctx).Webhooks[0].ClientConfig
		Expect(land.Client().DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(p.namespace))).To(Succeed())
		Eventually(func() error {
			after := registration(ctx).Webhooks[0].ClientConfig
			if bytes.Equal(after.CABundle, before.CABundle) || *after.URL == *before.URL {
				return errNotYet
			}
			return nil
		}).Should(Succeed(), "another CA and another path")
		Eventually(func() error {
			return land.Client().Create(ctx, deployment(shoot, "kube-controller-manager"), client.DryRunAll)
		}).Should(Succeed(), "waiting for objects to be admitted")
		p.waitReady()
	})
})

var _ = Describe("the removal of an installation", func() {
	It("keeps Service and roles until the webhooks are unregistered", func(ctx SpecContext) {
		shoot := newShoot(ctx, "removed", "acme")
		for _, namespace := range []string{"extension-stays", "extension-removed"} {
			time.Sleep(1100 * time.Millisecond) // the namespaces of installations differ in their age by a second at least
			start(ctx, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
				Namespace: namespace})
		}
		name, meta := programName+".extension-removed", metav1.ObjectMeta{
			Namespace: "extension-removed", Name: programName, Labels: map[string]string{"app.kubernetes.io/name": programName},
		}
		cluster := metav1.ObjectMeta{Name: name, Labels: meta.Labels}
		parts := []client.Object{
			&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}},
			&rbacv1.Role{ObjectMeta: meta}, &rbacv1.ClusterRole{ObjectMeta: cluster},
			&rbacv1.ClusterRoleBinding{ObjectMeta: cluster,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
		}
		resource := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "resources.gardener.cloud/v1alpha1", "kind": "ManagedResource",
			"metadata": map[string]any{"namespace": "garden", "name": "removed", "finalizers": []any{"example.com/test"}},
		}}
		for _, object := range append(slices.Clone(parts), resource) {
			Expect(land.Client().Create(ctx, object)).To(Succeed())
		}
		// Without the removal, nothing is held.
		Expect(land.Client().Delete(ctx, parts[0].DeepCopyObject().(client.Object))).To(Succeed())
		parts[0].SetResourceVersion("")
		Expect(land.Client().Create(ctx, parts[0])).To(Succeed())
		Expect(land.Client().Get(ctx, client.ObjectKey{Name: name}, &admissionregistrationv1.MutatingWebhookConfiguration{})).
			To(Succeed())
		Expect(land.Client().Delete(ctx, resource)).To(Succeed())
		ended := make(chan error)
		for _, object := range parts {
			go func() {
				err := land.Client().Delete(ctx, object)
				for _, registration := range []client.Object{
					&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
				} {
					if got := land.Client().Get(ctx, client.ObjectKey{Name: name}, registration); !apierrors.IsNotFound(got) {
						err = errors.Join(err, fmt.Errorf("%T %s was deleted while the webhooks were registered: %v", object,
							object.GetName(), got))
					}
				}
				ended <- err
			}()
		}
		for range parts {
			Expect(<-ended).To(Succeed())
		}
		// The other installation is back.
		expectFlags(create(ctx, deployment(shoot, "kube-controller-manager")), map[string]bool{"--value=x": true})
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
		Expect(land.Client().Patch(ctx, resource, patch)).To(Succeed())
	})
})
