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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

var _ = Describe("a driver in the plugin folders of a rootless dockerd", func() {
	It("is found by a .spec file with a socket, and by a .json file with certificates", func() {
		m := begin(linksOnly, "")
		writeCertificates(m.folder)
		m.kill()
		m.write("config.yaml", configurationOf(m.folder, `[{address: "unix://$F/elsewhere.sock", contracts: [docker]}, `+
			`{address: "unix:///run/docker/plugins/graft.sock", contracts: [docker]}, `+
			`{address: "tcp://127.0.0.1:7443", contracts: [docker], `+
			`tls: {certFile: $F/server.crt, keyFile: $F/server.key, clientCAFile: $F/ca.crt}}]`)+"shutdown: {delay: 0s}\n")
		m.start()
		Expect(os.MkdirAll(m.folder+"/.local/lib/docker/plugins", 0o700)).To(Succeed())
		m.write(".local/lib/docker/plugins/socket.spec", "unix://"+filepath.Join(m.folder, "elsewhere.sock")+"\n")
		text, err := json.Marshal(map[string]any{"Name": "secure", "Addr": "https://127.0.0.1:7443",
			"TLSConfig": map[string]string{
				"CAFile": filepath.Join(m.folder, "ca.crt"), "CertFile": filepath.Join(m.folder, "client.crt"),
				"KeyFile": filepath.Join(m.folder, "client.key"),
			}})
		Expect(err).NotTo(HaveOccurred())
		m.write(".local/lib/docker/plugins/secure.json", string(text))
		m.environment = []string{"ROOTLESSKIT_STATE_DIR=" + m.folder, "HOME=" + m.folder}
		m.restartController()
		for _, driver := range []string{"socket", "secure"} {
			m.network(engine.Network{Driver: driver, Name: driver, Four: four})
			_, c := m.container(engine.Endpoint{Network: driver, Name: driver, Four: "172.31.9.10"})
			Expect(c.onlyInterface().Addresses).To(HaveLen(1), "addresses of the container, driver %s", driver)
			m.deleteContainers(driver, driver)
			m.deleteNetworks(driver)
		}
		Expect(activateWithoutCertificate()).NotTo(Succeed(), "a request without a client certificate")
		m.expectClean()
	})
})

// activateWithoutCertificate sends a request over TLS without a client certificate. It fails without an answer.
func activateWithoutCertificate() error {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the spec is about the server's check
	}}
	response, err := client.Post("https://127.0.0.1:7443/Plugin.Activate", "", nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// writeCertificates writes the certificates and keys of a CA, of a server on the loopback interface, and of a client.
func writeCertificates(folder string) {
	GinkgoHelper()
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()),
			Subject:      pkix.Name{CommonName: name},
			NotBefore:    time.Now().Add(-time.Hour),
			NotAfter:     time.Now().Add(time.Hour),
			IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage:     x509.KeyUsageDigitalSignature,
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	authority, authorityKey := template("authority"), newKey()
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage, authority.ExtKeyUsage = x509.KeyUsageCertSign, nil
	write := func(name string, c *x509.Certificate, key *ecdsa.PrivateKey) {
		raw, err := x509.CreateCertificate(rand.Reader, c, authority, key.Public(), authorityKey)
		Expect(err).NotTo(HaveOccurred())
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		Expect(err).NotTo(HaveOccurred())
		for suffix, block := range map[string]*pem.Block{
			".crt": {Type: "CERTIFICATE", Bytes: raw}, ".key": {Type: "PRIVATE KEY", Bytes: secret},
		} {
			Expect(os.WriteFile(filepath.Join(folder, name+suffix), pem.EncodeToMemory(block), 0o600)).To(Succeed())
		}
	}
	write("ca", authority, authorityKey)
	write("server", template("server"), newKey())
	write("client", template("client"), newKey())
}

// newKey generates a private key.
func newKey() *ecdsa.PrivateKey {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	return key
}
