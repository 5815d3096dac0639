// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
)

// authority makes a CA that lasts so long.
func authority(t *testing.T, lasts time.Duration) *secretsutils.Certificate {
	t.Helper()
	ca, err := (&secretsutils.CertificateSecretConfig{
		Name: "ca", CommonName: "ca", CertType: secretsutils.CACert, Validity: &lasts,
	}).GenerateCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// serverOf makes a server certificate of a CA that lasts so long.
func serverOf(t *testing.T, ca *secretsutils.Certificate, lasts time.Duration) *secretsutils.Certificate {
	t.Helper()
	server, err := (&secretsutils.CertificateSecretConfig{
		Name: "server", CommonName: "server", CertType: secretsutils.ServerCert, SigningCA: ca, Validity: &lasts,
	}).GenerateCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func certificate(text string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(text)}))
}

// secretOf returns a Secret of the secrets manager with a label and an item of data.
func secretOf(namespace, name string, minute int, label, value, key, data string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)),
			Labels: map[string]string{
				"managed-by": "secrets-manager", "manager-identity": "gardener-extension-provider-graft-webhook", label: value,
			},
		},
		Data: map[string][]byte{key: []byte(data)},
	}
}

const caName = "ca-provider-graft-webhook"

func bundleSecret(name, namespace, bundleFor string, minute int, data string) *corev1.Secret {
	return secretOf(namespace, name, minute, "bundle-for", bundleFor, "bundle.crt", data)
}

func keySecret(name, namespace string, minute int, key string) *corev1.Secret {
	return secretOf(namespace, name, minute, "name", caName, "ca.key", key)
}

// serverSecret returns a server certificate in a Secret.
func serverSecret(t *testing.T, name string, minute int, pair *secretsutils.Certificate) *corev1.Secret {
	t.Helper()
	secret := secretOf("own", name, minute, "name", "provider-graft-webhook-server", "tls.crt", string(pair.CertificatePEM))
	secret.Data["tls.key"] = pair.PrivateKeyPEM
	return secret
}

// TestLoad reads Secrets, and checks the bundle, the segments and the server certificate.
func TestLoad(t *testing.T) {
	ca := authority(t, time.Hour)
	first, second := serverOf(t, ca, time.Hour), serverOf(t, ca, 2*time.Hour)
	server, key := serverSecret(t, "s1", 0, first), keySecret("k", "own", 0, "old")
	wrong := serverSecret(t, "s2", 1, second)
	wrong.Data["tls.key"] = []byte("none")
	for name, test := range map[string]struct {
		secrets []*corev1.Secret
		bundle  string
		keys    []string
		server  *secretsutils.Certificate
	}{
		"fails without a Secret":                  {},
		"fails without a bundle":                  {secrets: []*corev1.Secret{server, key}},
		"fails with an empty bundle":              {secrets: []*corev1.Secret{server, key, bundleSecret("a", "own", caName, 0, "")}},
		"fails without PEM in a bundle":           {secrets: []*corev1.Secret{server, key, bundleSecret("a", "own", caName, 0, "x")}},
		"fails without a key of a CA":             {secrets: []*corev1.Secret{server, keySecret("k", "own", 0, ""), bundleSecret("a", "own", caName, 0, certificate("1"))}},
		"fails without a server certificate":      {secrets: []*corev1.Secret{key, bundleSecret("a", "own", caName, 0, certificate("1"))}},
		"fails with an unreadable certificate":    {secrets: []*corev1.Secret{server, wrong, key, bundleSecret("a", "own", caName, 0, certificate("1"))}},
		"ignores bundles of others":               {secrets: []*corev1.Secret{server, key, bundleSecret("a", "other", caName, 0, certificate("1")), bundleSecret("b", "own", "another", 0, certificate("1"))}},
		"ignores CAs of others":                   {secrets: []*corev1.Secret{server, keySecret("k", "other", 0, "old"), bundleSecret("a", "own", caName, 0, certificate("1"))}},
		"returns the certificate of one CA":       {[]*corev1.Secret{server, key, bundleSecret("a", "own", caName, 0, certificate("1"))}, certificate("1"), []string{"old"}, first},
		"returns the newest server certificate":   {[]*corev1.Secret{server, serverSecret(t, "s2", 1, second), key, bundleSecret("a", "own", caName, 0, certificate("1"))}, certificate("1"), []string{"old"}, second},
		"returns both CAs during a rotation":      {[]*corev1.Secret{server, key, keySecret("l", "own", 1, "new"), bundleSecret("a", "own", caName, 0, certificate("1")), bundleSecret("b", "own", caName, 1, certificate("2")+certificate("1"))}, certificate("2") + certificate("1"), []string{"new", "old"}, first},
		"returns CAs that only an old bundle has": {[]*corev1.Secret{server, key, bundleSecret("a", "own", caName, 0, certificate("2")+certificate("1")), bundleSecret("b", "own", caName, 1, certificate("2"))}, certificate("2") + certificate("1"), []string{"old"}, first},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder()
			for _, secret := range test.secrets {
				builder.WithObjects(secret.DeepCopy())
			}
			before := &issued{bundle: []byte("before")}
			trust := &Trust{certificates: Certificates{Component: "provider-graft", Namespace: "own"}, changed: make(chan event.GenericEvent, 1)}
			trust.current.Store(before)
			if err := trust.load(t.Context(), builder.Build()); (err != nil) != (test.bundle == "") {
				t.Fatalf("the error is %v", err)
			}
			if test.bundle == "" {
				if trust.current.Load() != before || len(trust.changed) > 0 {
					t.Error("incomplete certificates replace the previous ones")
				}
				return
			}
			var want, got []string
			for _, key := range test.keys {
				want = append(want, segmentOf([]byte(key)))
			}
			for _, segment := range trust.Segments() {
				got = append(got, segment.Value)
			}
			if diff := cmp.Diff(want, got); diff != "" || !slices.IsSortedFunc(trust.Segments(), func(a, b Segment) int { return b.Since.Compare(a.Since) }) {
				t.Errorf("segments (-want +got):\n%s", diff)
			}
			if served, err := trust.GetCertificate(nil); err != nil || certificate(string(served.Certificate[0])) != string(test.server.CertificatePEM) {
				t.Errorf("another server certificate is served (%v)", err)
			}
			if diff := cmp.Diff(test.bundle, string(trust.bundle())); diff != "" || len(trust.changed) == 0 {
				t.Errorf("the bundle (-want +got), of which %d are notified:\n%s", len(trust.changed), diff)
			}
		})
	}
}

// TestLoadFailsWithoutSecrets checks that an error of the API server is no missing certificate.
func TestLoadFailsWithoutSecrets(t *testing.T) {
	cluster := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("refused")
		},
	}).Build()
	err := (&Trust{certificates: Certificates{Component: "provider-graft", Namespace: "own"}}).load(t.Context(), cluster)
	if err == nil || errors.Is(err, errIncomplete) {
		t.Errorf("the error is %v", err)
	}
}

// trustOf returns a Trust with a server certificate and CAs.
func trustOf(t *testing.T, server *secretsutils.Certificate, bundle []byte) *Trust {
	t.Helper()
	pair, err := tls.X509KeyPair(server.CertificatePEM, server.PrivateKeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	trust := &Trust{}
	trust.current.Store(&issued{server: &pair, bundle: bundle})
	return trust
}

func TestExpiry(t *testing.T) {
	old, current := authority(t, 24*time.Hour), authority(t, 72*time.Hour)
	served := serverOf(t, current, 48*time.Hour)
	ends := func(c *secretsutils.Certificate) float64 { return float64(c.Certificate.NotAfter.Unix()) }
	both := append(append([]byte{}, old.CertificatePEM...), current.CertificatePEM...)
	for name, test := range map[string]struct {
		bundle []byte
		want   map[string]float64
	}{
		"a certificate and its CA":    {both, map[string]float64{"serving": ends(served), "authority": ends(current)}},
		"a CA that is not registered": {old.CertificatePEM, map[string]float64{"serving": ends(served)}},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(trustOf(t, served, test.bundle))
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, family := range families {
				for _, metric := range family.GetMetric() {
					got[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestExpiredCertificatesAreReported checks that exactly certificates that are not valid, or have such a CA, are reported.
func TestExpiredCertificatesAreReported(t *testing.T) {
	short, long := authority(t, time.Hour), authority(t, 3*time.Hour)
	for name, test := range map[string]struct {
		server, bundle *secretsutils.Certificate
		after          time.Duration
		want           string
	}{
		"it is valid":                         {serverOf(t, long, time.Hour), long, 59 * time.Minute, ""},
		"it is expired":                       {serverOf(t, long, time.Hour), long, 61 * time.Minute, "expired"},
		"it is not valid yet":                 {serverOf(t, long, time.Hour), long, -time.Hour, "not yet valid"},
		"the clock is a little behind":        {serverOf(t, long, time.Hour), long, -skew, ""},
		"its CA is valid":                     {serverOf(t, short, 2*time.Hour), short, 59 * time.Minute, ""},
		"its CA is expired":                   {serverOf(t, short, 2*time.Hour), short, 61 * time.Minute, "expired"},
		"reports a certificate of another CA": {serverOf(t, short, time.Hour), long, 0, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			err := trustOf(t, test.server, test.bundle.CertificatePEM).Check(time.Now().Add(test.after))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the check says %v, want %q", err, test.want)
			}
		})
	}
}

// fixed returns a bundle that never changes; an empty one cannot be read.
func fixed(bundle string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		if bundle == "" {
			return nil, errors.New("not registered")
		}
		return []byte(bundle), nil
	}
}

func TestServing(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that are to fail
	server.StartTLS()
	defer server.Close()
	ca := fixed(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	address := server.Listener.Addr().String()
	for name, test := range map[string]struct {
		serving Serving
		ok      bool
	}{
		"accepts the certificate of the registered CA": {Serving{address, "example.com", ca}, true},
		"rejects a certificate for another name":       {Serving{address, "example.org", ca}, false},
		"rejects a certificate of another CA":          {Serving{address, "example.com", fixed(certificate("x"))}, false},
		"fails without a bundle":                       {Serving{address, "example.com", fixed("")}, false},
		"fails if no server answers":                   {Serving{"127.0.0.1:1", "example.com", ca}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.serving.Check(context.Background()); (err == nil) != test.ok {
				t.Errorf("unexpected result of the check: %v", err)
			}
		})
	}
}

// TestGeneratedCertificates generates certificates with Gardener's secrets manager, and checks that the API server
// trusts them for exactly the host of the endpoint.
func TestGeneratedCertificates(t *testing.T) {
	now := time.Now()
	for host, c := range map[string]struct {
		mode, url, other string
	}{
		"127.0.0.1":         {ModeURL, "127.0.0.1:443", "127.0.0.2"},
		"fd00::1":           {ModeURL, net.JoinHostPort("fd00::1", "443"), "fd00::2"},
		"graft.example.com": {ModeURL, "graft.example.com:443", "example.com"},
		"gardener-extension-provider-graft.own.svc": {ModeService, "", "gardener-extension-provider-graft.other.svc"},
	} {
		certificates, cluster := Certificates{Component: "provider-graft", Namespace: "own", Mode: c.mode, URL: c.url}, fake.NewClientBuilder().Build()
		trust := &Trust{certificates: certificates, changed: make(chan event.GenericEvent, 1)}
		if err := trust.load(t.Context(), cluster); !errors.Is(err, errIncomplete) {
			t.Fatalf("before they are generated: %v", err)
		}
		for range 2 {
			if err := errors.Join(certificates.generate(t.Context(), cluster), trust.load(t.Context(), cluster)); err != nil {
				t.Fatal(err)
			}
		}
		if err := trust.Check(now); err != nil {
			t.Error(err)
		}
		served, _ := trust.GetCertificate(nil)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(trust.bundle())
		for _, at := range []time.Time{now.Add(-30 * time.Second), now, now.AddDate(0, 0, 29)} {
			if _, err := served.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: at}); err != nil {
				t.Errorf("%s at %s: %v", host, at, err)
			}
		}
		if _, err := served.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.other, CurrentTime: now}); err == nil {
			t.Errorf("that for %s is trusted for %s", host, c.other)
		}
	}
}
