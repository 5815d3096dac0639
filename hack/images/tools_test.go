//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	repositoryRoot = "../.."
	page           = repositoryRoot + "/docs/operations/packaging.md"
	// pageRegistry is the registry on the page, which the test's registry replaces.
	pageRegistry = "registry.example.com"
)

// stand is a folder for the commands of the page, with a registry and the tools.
type stand struct {
	folder, registry string
	environment      []string
}

// newStand runs the distribution project's registry, with a certificate of its own, as registries have one.
func newStand(t *testing.T) *stand {
	t.Helper()
	bin, err := filepath.Abs(repositoryRoot + "/.cache/tools/bin")
	mustSucceed(t, err)
	programs, err := filepath.Abs(repositoryRoot + "/bin")
	mustSucceed(t, err)
	s := &stand{folder: t.TempDir(), registry: "127.0.0.1:" + freePort(t)}
	certificate(t, s.folder)
	config := fmt.Sprintf(`version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: %[1]s/registry}}
http: {addr: %[2]q, tls: {certificate: %[1]s/ca.crt, key: %[1]s/ca.key}}
`, s.folder, s.registry)
	mustSucceed(t, os.WriteFile(s.folder+"/registry.yaml", []byte(config), 0o600))
	// All tools are Go programs, and read certificates from there; their state is stored here.
	s.environment = append(os.Environ(), "PATH="+bin+":"+programs+":"+os.Getenv("PATH"), "SSL_CERT_FILE="+s.folder+"/ca.crt", "HOME="+s.folder,
		"XDG_RUNTIME_DIR="+s.folder, "OTEL_TRACES_EXPORTER=none")
	server := exec.Command(filepath.Join(bin, "registry"), "serve", s.folder+"/registry.yaml")
	var said bytes.Buffer
	server.Env, server.Stdout, server.Stderr = s.environment, &said, &said
	mustSucceed(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the registry said\n%s", said.String()[max(0, said.Len()-2000):])
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", s.registry)
		if err == nil {
			_ = connection.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the registry does not listen: %v; its output:\n%s", err, said.String())
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	mustSucceed(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	mustSucceed(t, err)
	return port
}

// certificate makes one for 127.0.0.1 that is its own CA.
func certificate(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	mustSucceed(t, err)
	its := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, its, its, key.Public(), key)
	mustSucceed(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	mustSucceed(t, err,
		os.WriteFile(folder+"/ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600),
		os.WriteFile(folder+"/ca.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// run types a command of the page.
func (s *stand) run(t *testing.T, command string) string {
	t.Helper()
	command = strings.ReplaceAll(command, pageRegistry, s.registry)
	c := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", command)
	c.Dir, c.Env = s.folder, s.environment
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out.String(), problems.String())
	}
	return out.String()
}

// commands returns the page's commands that begin with one of the words, with the lines that continue them after a
// backslash.
func commands(t *testing.T, words ...string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	mustSucceed(t, err)
	var found []string
	for _, block := range regexp.MustCompile("(?m)^```sh\n((?:[^`].*\n|\n)*)```$").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.SplitSeq(strings.ReplaceAll(block[1], "\\\n", " "), "\n") {
			for _, word := range words {
				if strings.HasPrefix(line, word+" ") {
					found = append(found, line)
				}
			}
		}
	}
	return found
}

// TestPageOfImages runs the page's commands that copy an image and a chart to a registry, and finds both there with
// their documents.
func TestPageOfImages(t *testing.T) {
	s := newStand(t)
	o := sample(t)
	o.programs[0].name = "graft"
	o.out, o.charts, o.source.version = filepath.Join(s.folder, "bin", "images"), filepath.Join(s.folder, "charts"), "v0.1.0-dev"
	archive := exec.CommandContext(t.Context(), "go", "run", "./hack/registration", "-chart", "charts/graft-profiles", "-archive", o.charts+"/graft-profiles.tgz")
	archive.Dir = repositoryRoot
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("archiving the chart: %v\n%s", err, out)
	}
	mustRun(t, o)
	_, named := manifests(t, open(t, filepath.Join(o.out, "graft.tar")))
	_, charted := manifests(t, open(t, filepath.Join(o.out, "chart-graft-profiles.tar")))
	image, chart := s.registry+"/graft/graft:v0.1.0-dev", s.registry+"/graft/charts/graft-profiles:"+charted[0].Annotations["org.opencontainers.image.ref.name"]
	copied := 0
	for _, command := range commands(t, "skopeo", "oras") {
		if !strings.Contains(command, "bin/images/") {
			continue
		}
		copied++
		t.Run(command, func(t *testing.T) {
			s.run(t, command)
			if strings.Contains(command, "chart-") {
				if got := strings.TrimSpace(s.run(t, "crane digest "+chart)); got != charted[0].Digest.String() {
					t.Errorf("the registry has %s, the archive %s", got, charted[0].Digest)
				}
				return
			}
			if got := strings.TrimSpace(s.run(t, "crane digest "+image)); got != named[0].Digest.String() {
				t.Errorf("the registry has %s, the archive %s", got, named[0].Digest)
			}
			s.run(t, "crane validate --remote "+image)
			about := s.run(t, "oras discover --platform linux/amd64 --format json "+image)
			// skopeo does not copy referrers of an image.
			if with := strings.HasPrefix(command, "oras cp -r "); strings.Contains(about, spdxType) != with {
				t.Errorf("unexpected referrers of the image: %s", about)
			}
		})
	}
	if copied < 3 {
		t.Errorf("the page copies %d images and charts", copied)
	}
}

// TestPageOfProfiles runs the page's commands that pack, copy and inspect profiles, and starts a program with profiles
// from the registry.
func TestPageOfProfiles(t *testing.T) {
	s := newStand(t)
	example, err := filepath.Abs(repositoryRoot + "/example")
	mustSucceed(t, err, os.Symlink(example, filepath.Join(s.folder, "example")))
	const image = pageRegistry + "/graft/pools:v1"
	packed, copied, listed := "", 0, ""
	for _, command := range commands(t, "graft pack", "skopeo", "oras", "crane") {
		if strings.Contains(command, "bin/images/") {
			continue
		}
		out := s.run(t, command)
		switch {
		case strings.HasPrefix(command, "graft pack "):
			packed = strings.TrimSpace(out)
		case strings.HasPrefix(command, "crane export "):
			listed = out
		case strings.Contains(command, "pools:v1"):
			copied++
			if got := strings.TrimSpace(s.run(t, "crane digest "+image)); got != packed {
				t.Errorf("%s: the registry has %s, graft packed %s", command, got, packed)
			}
		}
	}
	if copied < 2 || listed != "acme.yaml\nvlan.yaml\n" {
		t.Errorf("%d commands have copied; in the image are %q", copied, listed)
	}
	s.run(t, "crane validate --remote "+image)
	for _, architecture := range []string{"amd64", "arm64"} {
		folder := filepath.Join(s.folder, architecture)
		mustSucceed(t, os.Mkdir(folder, 0o700))
		s.run(t, fmt.Sprintf("crane export --platform linux/%s %s@%s - | tar -xf - -C %s", architecture, strings.TrimSuffix(image, ":v1"), packed, folder))
		for _, name := range []string{"acme.yaml", "vlan.yaml"} {
			want, err := os.ReadFile(filepath.Join(example, "network", name))
			mustSucceed(t, err)
			got, err := os.ReadFile(filepath.Join(folder, name))
			if mustSucceed(t, err); !cmp.Equal(want, got) {
				t.Errorf("%s: the file %s differs", architecture, name)
			}
		}
	}
	s.begin(t, filepath.Join(s.folder, "amd64"))
}

// begin starts the network provider with a folder of profiles, until it is ready.
func (s *stand) begin(t *testing.T, profiles string) {
	t.Helper()
	metrics := "localhost:" + freePort(t)
	config := fmt.Sprintf(`apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%s]}
ledger: {path: %s/ledger}
listeners: [{address: "unix://%s/it.sock", contracts: [dranet]}]
metrics: {address: %q}
`, profiles, s.folder, s.folder, metrics)
	mustSucceed(t, os.WriteFile(s.folder+"/provider.yaml", []byte(config), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	program := exec.CommandContext(ctx, "bash", "-c", "exec graft-network-provider --config "+s.folder+"/provider.yaml")
	var said bytes.Buffer
	program.Env, program.Stdout, program.Stderr = s.environment, &said, &said
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	mustSucceed(t, program.Start())
	defer func() {
		stop()
		_ = program.Wait()
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if response, err := http.Get("http://" + metrics + "/readyz"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program did not load the profiles of the image; its output:\n%s", said.String())
		}
	}
}
