// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// TestDriverFoundByFile uses a driver that Docker finds by a file: a .json with certificates, and a .spec with the path
// of a socket. They are in the folders of a rootless dockerd.
func TestDriverFoundByFile(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		w := begin(t, version, document, "")
		certificates(t, w.folder)
		w.kill()
		w.write("config.yaml", configured(w.folder, `[{address: "unix://$F/elsewhere.sock", contracts: [docker]}, {address: "unix:///run/docker/plugins/graft.sock", `+
			`contracts: [docker]}, {address: "tcp://127.0.0.1:7443", contracts: [docker], `+
			`tls: {certFile: $F/server.crt, keyFile: $F/server.key, clientCAFile: $F/ca.crt}}]`)+"shutdown: {delay: 0s}\n")
		w.start()
		plugins := w.folder + "/.local/lib/docker/plugins"
		w.try("making a folder", os.MkdirAll(plugins, 0o700))
		w.write(".local/lib/docker/plugins/socket.spec", "unix://"+filepath.Join(w.folder, "elsewhere.sock")+"\n")
		text, err := json.Marshal(map[string]any{"Name": "secure", "Addr": "https://127.0.0.1:7443", "TLSConfig": map[string]string{
			"CAFile": filepath.Join(w.folder, "ca.crt"), "CertFile": filepath.Join(w.folder, "client.crt"), "KeyFile": filepath.Join(w.folder, "client.key"),
		}})
		w.try("writing", err)
		w.write(".local/lib/docker/plugins/secure.json", string(text))
		w.environment = []string{"ROOTLESSKIT_STATE_DIR=" + w.folder, "HOME=" + w.folder}
		w.again()
		for _, driver := range []string{"socket", "secure"} {
			w.network(engine.Network{Driver: driver, Name: driver, Four: four})
			_, b := w.attach(engine.Endpoint{Network: driver, Name: driver, Four: "172.31.9.10"})
			if seen := b.one(); len(seen.Addresses) != 1 {
				t.Errorf("the container sees %v", seen)
			}
			w.detach(driver, driver)
			w.remove(driver)
		}
		if answer, err := anybody(t); err == nil {
			t.Errorf("a client without a certificate is answered %s", answer)
		}
		w.clean()
	})
}

// anybody calls the server over TLS without a certificate.
func anybody(t *testing.T) (status string, err error) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the server must check the client
	}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1:7443/Plugin.Activate", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	return response.Status, response.Body.Close()
}

// certificates writes those of a CA, a server on the loopback interface, and a client.
func certificates(t *testing.T, folder string) {
	t.Helper()
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	authority, authorityKey := template("authority"), key(t)
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage, authority.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	write := func(name string, c *x509.Certificate, own *ecdsa.PrivateKey) {
		raw, err := x509.CreateCertificate(rand.Reader, c, authority, own.Public(), authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(own)
		if err != nil {
			t.Fatal(err)
		}
		for suffix, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: raw}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
			if err := os.WriteFile(filepath.Join(folder, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("ca", authority, authorityKey)
	write("server", template("server"), key(t))
	write("client", template("client"), key(t))
}

// key makes a private key.
func key(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
