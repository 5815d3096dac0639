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
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// segmented puts the registered secret segment into the path of a webhook.
func segmented(t *testing.T, path string) string {
	t.Helper()
	parts := strings.Split(*registration(t).Webhooks[0].ClientConfig.URL, "/")
	return strings.Replace(path, "/webhooks/", "/webhooks/"+parts[len(parts)-3]+"/", 1)
}

// clientConfig is how the API server reaches and trusts the program, with a path of the test's choice.
func (p *program) clientConfig(t *testing.T, path string) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	return admissionregistrationv1.WebhookClientConfig{
		URL: ptr.To("https://" + p.Webhook + segmented(t, path)), CABundle: registration(t).Webhooks[0].ClientConfig.CABundle,
	}
}

// client speaks with the webhook server as the API server does.
func (p *program) client(t *testing.T) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(registration(t).Webhooks[0].ClientConfig.CABundle) {
		t.Fatal("the registration has no CA bundle")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// proxy changes messages between the API server and the program.
func (p *program) proxy(t *testing.T, path string, change func(*http.Request, []byte) []byte) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	to := p.client(t)
	config := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		body = change(r, body)
		request, err := http.NewRequestWithContext(r.Context(), r.Method, "https://"+p.Webhook+r.URL.RequestURI(), bytes.NewReader(body))
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
	config.URL = ptr.To(*config.URL + segmented(t, path))
	return config
}

// changeClusterRules takes resources out of the program's ClusterRole, or, without any, puts the chart's rules back, and
// returns when the API server acts accordingly for Clusters.
func (p *program) changeClusterRules(t *testing.T, probe string, forbidden bool, without ...string) {
	t.Helper()
	ctx := context.Background()
	role := &rbacv1.ClusterRole{}
	if err := land.Client().Get(ctx, client.ObjectKey{Name: p.namespace + "-" + programName}, role); err != nil {
		t.Fatal(err)
	}
	role.Rules = slices.DeleteFunc(rulesOfChart(t, p.namespace, p.values).ClusterRules, func(rule rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(without, func(resource string) bool { return slices.Contains(rule.Resources, resource) })
	})
	if err := land.Client().Update(ctx, role); err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(p.account.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the permissions to be active", func() error {
		cluster := &unstructured.Unstructured{}
		cluster.SetAPIVersion("extensions.gardener.cloud/v1alpha1")
		cluster.SetKind("Cluster")
		if err := reader.Get(ctx, client.ObjectKey{Name: probe}, cluster); apierrors.IsForbidden(err) != forbidden {
			return errNotYet
		}
		return nil
	})
}
