// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
)

// TestRejectedCertificate connects to a server that rejects the certificate after the handshake, many times, since the connection may end
// before or after the client writes to it.
func TestRejectedCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	options := etcd.Options{
		Endpoints: []string{server.URL}, TLS: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS13}, DialTimeout: 6 * time.Second,
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := etcd.Open(t.Context(), options)
			if want := server.URL + ": remote error: tls: certificate required"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want %q", err, want)
			}
		})
	}
	group.Wait()
}
