// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

func TestServing(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that are to fail
	server.StartTLS()
	defer server.Close()
	ca := staticBundle(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	address := server.Listener.Addr().String()
	for name, test := range map[string]struct {
		serving Serving
		ok      bool
	}{
		"accepts the certificate of the registered CA": {Serving{address, "example.com", ca}, true},
		"rejects a certificate for another name":       {Serving{address, "example.org", ca}, false},
		"rejects a certificate of another CA":          {Serving{address, "example.com", staticBundle(certificate("x"))}, false},
		"fails without a bundle":                       {Serving{address, "example.com", staticBundle(nil)}, false},
		"fails if no server answers":                   {Serving{"127.0.0.1:1", "example.com", ca}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.serving.Check(context.Background()); (err == nil) != test.ok {
				t.Errorf("unexpected result of the check: %v", err)
			}
		})
	}
}

// TestCertificatesOfTheLibrary creates a CA and a server certificate with Gardener's secrets manager, and finds the CA
// bundle of the certificate.
func TestCertificatesOfTheLibrary(t *testing.T) {
	ctx, c := context.Background(), fake.NewClientBuilder().Build()
	certificates := Certificates{Component: "provider-graft", Namespace: "own", Mode: ModeService}
	manager, err := secretsmanager.New(ctx, logr.Discard(), clock.RealClock{}, c, certificates.identity(), secretsmanager.Config{CASecretAutoRotation: true}, "own")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manager.Generate(ctx, &secretsutils.CertificateSecretConfig{Name: certificates.caName(), CertType: secretsutils.CACert}); err != nil {
		t.Fatal(err)
	}
	endpoint := Endpoint{Name: certificates.FullName(), Namespace: "own", Mode: ModeService}
	secret, err := manager.Generate(ctx, &secretsutils.CertificateSecretConfig{
		Name: "server", CommonName: "server", CertType: secretsutils.ServerCert, DNSNames: []string{endpoint.ServerName()},
	}, secretsmanager.SignedByCA(certificates.caName(), secretsmanager.UseCurrentCA))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data[secretsutils.DataKeyCertificate], secret.Data[secretsutils.DataKeyPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	defer server.Close()
	serving := Serving{server.Listener.Addr().String(), endpoint.ServerName(), secretBundle{c, c, certificates}}
	if err := serving.Check(ctx); err != nil {
		t.Error(err)
	}
}
