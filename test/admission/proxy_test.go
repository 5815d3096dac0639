// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// segmented puts the registered secret segment into the path of a webhook.
func segmented(ctx context.Context, path string) string {
	GinkgoHelper()
	parts := strings.Split(*registration(ctx).Webhooks[0].ClientConfig.URL, "/")
	return strings.Replace(path, "/webhooks/", "/webhooks/"+parts[len(parts)-3]+"/", 1)
}

// clientConfig is how the API server reaches and trusts the program, with a path of the test's choice.
func (p *program) clientConfig(ctx context.Context, path string) admissionregistrationv1.WebhookClientConfig {
	GinkgoHelper()
	return admissionregistrationv1.WebhookClientConfig{
		URL:      ptr.To("https://" + p.Webhook + segmented(ctx, path)),
		CABundle: registration(ctx).Webhooks[0].ClientConfig.CABundle,
	}
}

// client speaks with the webhook server as the API server does.
func (p *program) client(ctx context.Context) *http.Client {
	GinkgoHelper()
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(registration(ctx).Webhooks[0].ClientConfig.CABundle)).
		To(BeTrue(), "the CA bundle is valid")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	DeferCleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// proxy changes messages between the API server and the program.
func (p *program) proxy(ctx context.Context, path string,
	change func(*http.Request, []byte) []byte) admissionregistrationv1.WebhookClientConfig {
	GinkgoHelper()
	to := p.client(ctx)
	config := serveTLS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		body = change(r, body)
		request, err := http.NewRequestWithContext(r.Context(), r.Method, "https://"+p.Webhook+r.URL.RequestURI(),
			bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		request.Header = r.Header
		response, err := to.Do(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	config.URL = ptr.To(*config.URL + segmented(ctx, path))
	return config
}

// changeClusterRules takes resources out of the program's ClusterRole, or, without any, puts the chart's rules back,
// and returns when the API server acts accordingly for Clusters.
func (p *program) changeClusterRules(probe string, forbidden bool, without ...string) {
	GinkgoHelper()
	ctx := context.Background()
	role := &rbacv1.ClusterRole{}
	Expect(land.Client().Get(ctx, client.ObjectKey{Name: p.namespace + "-" + programName}, role)).To(Succeed())
	role.Rules = slices.DeleteFunc(rulesOfChart(p.namespace, p.values).ClusterRules, func(rule rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(without, func(resource string) bool { return slices.Contains(rule.Resources, resource) })
	})
	Expect(land.Client().Update(ctx, role)).To(Succeed())
	reader, err := client.New(p.account.Config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error {
		cluster := &unstructured.Unstructured{}
		cluster.SetAPIVersion("extensions.gardener.cloud/v1alpha1")
		cluster.SetKind("Cluster")
		if err := reader.Get(ctx, client.ObjectKey{Name: probe}, cluster); apierrors.IsForbidden(err) != forbidden {
			return errNotYet
		}
		return nil
	}).Should(Succeed(), "waiting for the permissions to be active")
}
