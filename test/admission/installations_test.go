// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// expectRegistration holds whether a program has a registration of its own.
func (p *program) expectRegistration(t *testing.T, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("the registration of %s (%v)", p.namespace, want), func() error {
		found := &admissionregistrationv1.MutatingWebhookConfiguration{}
		err := land.Client().Get(t.Context(), client.ObjectKey{Name: programName + "." + p.namespace}, found)
		if client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) == want {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
}

// deleteNamespace begins the deletion of a namespace, which never ends here: nothing empties namespaces.
func deleteNamespace(t *testing.T, name string) {
	t.Helper()
	if err := land.Client().Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// TestMove moves a seed from one installation to another, and looks after each step how often an object is changed: never twice, and never not at all.
func TestMove(t *testing.T) {
	flag := func(value string) map[string]string {
		return map[string]string{"acme": setFlag("acme", "acme", "value", value)}
	}
	shoot := newShoot(t, "moved", "acme")
	written := func(p, silent *program, value string) {
		t.Helper()
		write := func() {
			object := deployment(shoot, "kube-controller-manager")
			if err := client.IgnoreNotFound(land.Client().Delete(t.Context(), object.DeepCopy())); err != nil {
				t.Fatal(err)
			}
			expectFlags(t, create(t, object), map[string]bool{"--value=" + value: true})
		}
		if silent == nil {
			p.expectCount(t, 1, "graft_admissions_total", labels{"result": "patched"}, write)
			return
		}
		p.expectCount(t, 1, "graft_admissions_total", labels{"result": "patched"}, func() {
			silent.expectCount(t, 0, "graft_admissions_total", labels{"result": "patched"}, write)
		})
	}
	before := start(t, programOptions{Profiles: flag("before"), Namespace: "extension-before"})
	written(before, nil, "before")

	// The namespaces of installations differ in their age by a second at least.
	time.Sleep(1100 * time.Millisecond)
	after := start(t, programOptions{Profiles: flag("after"), Namespace: "extension-after"})
	before.expectRegistration(t, true)
	after.expectRegistration(t, true)
	before.log.waitFor(t, "What newer installations serve is left to them")
	written(after, before, "after")

	// The newer one is removed: the older one is back before it is gone.
	deleteNamespace(t, after.namespace)
	after.expectRegistration(t, false)
	before.expectRegistration(t, true)
	syncWebhooks(t)
	written(before, nil, "before")
	after.stop()
	after.expectRegistration(t, false)

	time.Sleep(1100 * time.Millisecond)
	again := start(t, programOptions{Profiles: flag("again"), Namespace: "extension-again"})
	eventually(t, "the newest one to be followed", func() error {
		if strings.Count(before.log.String(), "What newer installations serve is left to them") < 3 {
			return errNotYet
		}
		return nil
	})
	written(again, before, "again")
	deleteNamespace(t, before.namespace)
	before.expectRegistration(t, false)
	before.stop()
	again.expectRegistration(t, true)
	written(again, nil, "again")
}

// TestUninstall checks that a program that ends keeps its registration unless the installation is removed.
func TestUninstall(t *testing.T) {
	profiles := map[string]string{"acme": setFlag("acme", "acme", "value", "x")}
	p := start(t, programOptions{Profiles: profiles})
	if code := p.stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	p.expectRegistration(t, true)
	next := start(t, programOptions{Profiles: profiles, Beside: p})
	deleteNamespace(t, p.namespace)
	if code := next.stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	found := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Name: programName + "." + p.namespace}, found); !apierrors.IsNotFound(err) {
		t.Errorf("the registration is there when the program has ended: %v", err)
	}
}

// TestCallers holds that only those are answered who know the path that is registered, and that nothing tells it.
func TestCallers(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}})
	const plain = "/webhooks/controlplane/acme"
	caller := p.client(t)
	post := func(path string) (int, string) {
		t.Helper()
		response, err := caller.Post("https://"+p.Webhook+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body := &bytes.Buffer{}
		if _, err := body.ReadFrom(response.Body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, body.String()
	}
	p.expectCount(t, 2, "graft_unauthorized_reviews_total", labels{"lacked": "path"}, func() {
		for _, path := range []string{plain, "/webhooks/0123456789abcdef0123456789abcdef/controlplane/acme"} {
			if status, body := post(path); status != http.StatusNotFound || body != "" {
				t.Errorf("%s: HTTP %d: %s", path, status, body)
			}
		}
	})
	path := segmented(t, plain)
	if status, _ := post(path); status != http.StatusBadRequest {
		t.Errorf("with the segment: HTTP %d", status)
	}
	_, metrics, err := get("http://" + p.Metrics + "/metrics")
	segment := strings.Split(path, "/")[2]
	if err != nil || strings.Contains(metrics, segment) || strings.Contains(p.log.String(), segment) || len(segment) != 32 {
		t.Errorf("the segment %q is told (%v)", segment, err)
	}
}

// TestClientCertificates checks that a program with a client CA answers only callers with a certificate of this CA and
// the path.
func TestClientCertificates(t *testing.T) {
	trusted, stranger := env.NewAuthority(t), env.NewAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, trusted.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Arguments: []string{"--client-ca=" + file},
	})
	const plain = "/webhooks/controlplane/acme"
	post := func(path string, certificates ...tls.Certificate) (int, error) {
		caller := p.client(t)
		caller.Transport.(*http.Transport).TLSClientConfig.Certificates = certificates
		response, err := caller.Post("https://"+p.Webhook+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	path := segmented(t, plain)
	p.expectCount(t, 1, "graft_unauthorized_reviews_total", labels{"lacked": "certificate"}, func() {
		if status, err := post(path); status != http.StatusForbidden {
			t.Errorf("without a certificate: HTTP %d, %v", status, err)
		}
	})
	if status, err := post(path, trusted.Pair("kube-apiserver")); status != http.StatusBadRequest {
		t.Errorf("with a certificate: HTTP %d, %v", status, err)
	}
	if status, err := post(plain, trusted.Pair("kube-apiserver")); status != http.StatusNotFound {
		t.Errorf("with a certificate alone: HTTP %d, %v", status, err)
	}
	if status, err := post(path, stranger.Pair("kube-apiserver")); err == nil && status != http.StatusForbidden {
		t.Errorf("with a certificate of a stranger: HTTP %d", status)
	}
}

// TestLostSecrets deletes the certificate Secrets of a running program: they are created again, and calls succeed
// within seconds.
func TestLostSecrets(t *testing.T) {
	p := start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}})
	shoot := newShoot(t, "lost", "acme")
	before := registration(t).Webhooks[0].ClientConfig
	if err := land.Client().DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(p.namespace)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another CA and another path", func() error {
		after := registration(t).Webhooks[0].ClientConfig
		if bytes.Equal(after.CABundle, before.CABundle) || *after.URL == *before.URL {
			return errNotYet
		}
		return nil
	})
	eventually(t, "objects to be admitted", func() error {
		return land.Client().Create(t.Context(), deployment(shoot, "kube-controller-manager"), client.DryRunAll)
	})
	p.waitReady()
}

// TestForeignRegistration checks that a program does not overwrite the registration of another existing installation.
func TestForeignRegistration(t *testing.T) {
	p := launch(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Before: func(namespace string) {
		newNamespace(t, "extension-owner", nil)
		found := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: programName + "." + namespace, Labels: named(programName)}}
		found.Labels["graft.provider.extensions.gardener.cloud/namespace"] = "extension-owner"
		if err := land.Client().Create(t.Context(), found); err != nil {
			t.Fatal(err)
		}
	}})
	p.log.waitFor(t, "belongs to the installation in the namespace extension-owner")
	eventually(t, "the metric", func() error {
		if p.counter("graft_registration_refused", nil) != 1 {
			return errNotYet
		}
		return nil
	})
	if status, body, _ := get("http://" + p.Health + "/readyz?verbose"); status == http.StatusOK || !strings.Contains(body, "[-]registration failed") {
		t.Errorf("HTTP %d: %s", status, body)
	}
	if got := registration(t); len(got.Webhooks) != 0 {
		t.Errorf("it was overwritten: %+v", got)
	}
}

// TestRemovalOrder deletes all parts of an installation at once, as gardener-resource-manager does after the
// ManagedResource. No part that the webhooks need is gone before they are unregistered.
func TestRemovalOrder(t *testing.T) {
	shoot := newShoot(t, "removed", "acme")
	for _, namespace := range []string{"extension-stays", "extension-removed"} {
		time.Sleep(1100 * time.Millisecond) // the namespaces of installations differ in their age by a second at least
		start(t, programOptions{Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")}, Namespace: namespace})
	}
	name, meta := programName+".extension-removed", metav1.ObjectMeta{
		Namespace: "extension-removed", Name: programName, Labels: map[string]string{"app.kubernetes.io/name": programName},
	}
	cluster := metav1.ObjectMeta{Name: name, Labels: meta.Labels}
	parts := []client.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}},
		&rbacv1.Role{ObjectMeta: meta}, &rbacv1.ClusterRole{ObjectMeta: cluster},
		&rbacv1.ClusterRoleBinding{ObjectMeta: cluster, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
	}
	resource := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resources.gardener.cloud/v1alpha1", "kind": "ManagedResource",
		"metadata": map[string]any{"namespace": "garden", "name": "removed", "finalizers": []any{"example.com/test"}},
	}}
	for _, object := range append(slices.Clone(parts), resource) {
		if err := land.Client().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	// Without the removal, nothing is held.
	if err := land.Client().Delete(t.Context(), parts[0].DeepCopyObject().(client.Object)); err != nil {
		t.Fatal(err)
	}
	parts[0].SetResourceVersion("")
	if err := land.Client().Create(t.Context(), parts[0]); err != nil {
		t.Fatal(err)
	}
	if err := land.Client().Get(t.Context(), client.ObjectKey{Name: name}, &admissionregistrationv1.MutatingWebhookConfiguration{}); err != nil {
		t.Fatal(err)
	}
	if err := land.Client().Delete(t.Context(), resource); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	for _, object := range parts {
		go func() {
			err := land.Client().Delete(t.Context(), object)
			for _, registration := range []client.Object{
				&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
			} {
				if got := land.Client().Get(t.Context(), client.ObjectKey{Name: name}, registration); !apierrors.IsNotFound(got) {
					err = errors.Join(err, fmt.Errorf("%T %s was deleted while the webhooks were registered: %v", object, object.GetName(), got))
				}
			}
			ended <- err
		}()
	}
	for range parts {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	// The other installation is back.
	expectFlags(t, create(t, deployment(shoot, "kube-controller-manager")), map[string]bool{"--value=x": true})
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	if err := land.Client().Patch(t.Context(), resource, patch); err != nil {
		t.Fatal(err)
	}
}
