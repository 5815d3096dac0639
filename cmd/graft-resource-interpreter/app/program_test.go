// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// machine is a folder with the files of one program.
type machine struct {
	folder string
	more   []string
	*env.InProcess
}

func newMachine(t *testing.T, more ...string) *machine {
	m := &machine{folder: t.TempDir()}
	m.more = append(m.more, more...)
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.folder, name) }

// profile writes the profile: queues have so many replicas.
func (m *machine) profile(t *testing.T, count string) {
	t.Helper()
	m.write(t, "acme.yaml", "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: InterpreterProfile\nmetadata: {name: acme}\n"+
		"kinds:\n- apiVersion: acme.com/v1\n  kind: Queue\n  replicas: [{count: "+count+"}]\n")
}

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) arguments(more ...string) []string {
	config := []string{"--config=" + m.path("config.yaml")}
	if _, err := os.Stat(m.path("config.yaml")); err != nil {
		config = nil
	}
	return slices.Concat(config, []string{
		"--profiles=" + m.path("acme.yaml"), "--listen=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--log-format=text",
	}, m.more, more)
}

// start begins the program, and waits until it listens.
func (m *machine) start(t *testing.T) {
	t.Helper()
	m.InProcess = env.Main(Main).Start(t, m.arguments()...)
}

// try starts a program that should end by itself, and returns its output.
func (m *machine) try(t *testing.T, more ...string) (status int, said string) {
	t.Helper()
	return env.Main(Main).Try(t, m.folder, m.arguments(append(more, "--log-level=error")...)...)
}

// address is one that the log has behind a word.
func (m *machine) address(t *testing.T, word string) string {
	t.Helper()
	found := regexp.MustCompile(word + `[^\n]*?(127\.0\.0\.1:[1-9][0-9]*)`).FindStringSubmatch(m.Log.String())
	if found == nil {
		t.Fatalf("the log has no address: %s", m.Log)
	}
	return found[1]
}

// watch asks the address of those who watch.
func (m *machine) watch(t *testing.T, path string) (status int, text string) {
	t.Helper()
	response, err := http.Get("http://" + m.address(t, "Serving metrics") + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all)
}

// ask asks how many replicas a queue has, trusting the authorities of a file.
func (m *machine) ask(t *testing.T, bundle string) string {
	t.Helper()
	trusted, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	const question = `{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterContext","request":{"uid":"u","operation":"InterpretReplica",` +
		`"kind":{"group":"acme.com","version":"v1","kind":"Queue"},"name":"q","object":{"apiVersion":"acme.com/v1","kind":"Queue"}}}`
	response, err := (&http.Client{Transport: transport}).Post("https://"+m.address(t, "Listening")+"/", "application/json", strings.NewReader(question))
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	found := regexp.MustCompile(`"replicas":\d+`).FindString(string(text))
	if found == "" {
		return string(text)
	}
	return found
}

// TestProgram runs a program on one machine: it issues its certificate, reloads profiles, and keeps both after a
// restart.
func TestProgram(t *testing.T) {
	m := newMachine(t)
	m.write(t, "config.yaml", "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ResourceInterpreterConfiguration\n"+
		"certificate: {folder: "+m.path("certificate")+"}\nshutdown: {delay: 0s}\n")
	m.profile(t, "3")
	m.start(t)
	bundle := m.path("certificate/ca.crt")
	if got := m.ask(t, bundle); got != `"replicas":3` {
		t.Error(got)
	}
	m.profile(t, "4")
	m.Eventually(t, func() bool { return m.ask(t, bundle) == `"replicas":4` })
	m.profile(t, "4, no: 1")
	m.Eventually(t, func() bool {
		_, text := m.watch(t, "/metrics")
		return strings.Contains(text, "graft_interpreter_profile_reload_failed 1")
	})
	m.Eventually(t, func() bool { return strings.Contains(m.Log.String(), "unknown field") })
	if got := m.ask(t, bundle); got != `"replicas":4` {
		t.Error(got)
	}
	if status, text := m.watch(t, "/readyz"); status != http.StatusOK {
		t.Errorf("the program is not ready: %s", text)
	}
	m.Stop(t)
	m.profile(t, "5")
	m.start(t)
	if got := m.ask(t, bundle); got != `"replicas":5` {
		t.Errorf("after a restart: %s", got)
	}
	m.Stop(t)
}

// TestFiles checks that the program serves the certificate in its files, and a new one when the files change.
func TestFiles(t *testing.T) {
	m := newMachine(t, "--gardener=false")
	m.more = append(m.more, "--tls-cert-file="+m.path("tls.crt"), "--tls-key-file="+m.path("tls.key"))
	m.profile(t, "1")
	m.write(t, "config.yaml", "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ResourceInterpreterConfiguration\nshutdown: {delay: 0s}\n")
	for _, name := range []string{"first", "second"} {
		a := env.NewAuthority(t)
		certificate, key := a.Issue("interpreter")
		m.write(t, name+".crt", string(a.PEM))
		m.write(t, "tls.key", string(key))
		m.write(t, "tls.crt", string(certificate))
		if name == "first" {
			m.start(t)
		}
		m.Eventually(t, func() bool { return m.ask(t, m.path(name+".crt")) == `"replicas":1` })
	}
	m.Stop(t)
}

// TestRefuses checks the messages of invalid installations, with --check and at a start.
func TestRefuses(t *testing.T) {
	m := newMachine(t, "--gardener=false")
	m.profile(t, "1")
	a := env.NewAuthority(t)
	certificate, key := a.Issue("interpreter", "a.example.com")
	m.write(t, "tls.crt", string(certificate))
	m.write(t, "tls.key", string(key))
	m.write(t, "wrong.yaml", "apiVersion: v1\nkind: InterpreterProfile\n")
	if err := errors.Join(os.MkdirAll(m.path("in"), 0o755), os.Symlink("../wrong.yaml", m.path("in/link.yaml")), syscall.Mkfifo(m.path("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	files := []string{"--tls-cert-file=" + m.path("tls.crt"), "--tls-key-file=" + m.path("tls.key")}
	folder := []string{"--certificate-folder=" + m.path("x")}
	for about, test := range map[string]struct {
		more []string
		want string
	}{
		"valid":                          {folder, "ok: kinds "},
		"valid, with files":              {append(files, "--register=a", "--url=https://a.example.com"), "ok: kinds "},
		"no certificate":                 {nil, "Error: no certificate: give --tls-cert-file and --tls-key-file, --certificate-secret or --certificate-folder\n"},
		"no key":                         {files[:1], "Error: --tls-cert-file and --tls-key-file must be given together\n"},
		"certificate files and a folder": {append(files, folder...), "Error: there are several certificates: give only files, a Secret or a folder\n"},
		"missing certificate files":      {[]string{"--tls-cert-file=x", "--tls-key-file=x"}, "Error: certificate.files: reading the certificate: open x: no such file or directory\n"},
		"certificate for another host": {append(files, "--register=a", "--url=https://b.example.com"),
			"Error: certificate.files: callers would reject the certificate: x509: certificate is valid for a.example.com, localhost, not b.example.com\n"},
		"certificate for another service": {append(files, "--register=a", "--service=a/b"),
			"Error: certificate.files: callers would reject the certificate: x509: certificate is valid for a.example.com, localhost, not b.a.svc\n"},
		"invalid profile": {append(folder, "--profiles="+m.path("wrong.yaml")), "wrong.yaml:1:1: metadata.name: is missing\n"},
		"a link out of a folder": {append(folder, "--profiles="+m.path("in")),
			"in/link.yaml: read in/link.yaml: it is or contains a link that leads out of the folder"},
		"profile is a pipe": {append(folder, "--profiles="+m.path("pipe")), "Error: reading a profile: read pipe: it is a pipe"},
		"missing kubeconfig of Karmada": {append(folder, "--register=a", "--url=https://a", "--karmada-kubeconfig=x"),
			"Error: registration.kubeconfig: reading the kubeconfig: stat x: no such file or directory\n"},
		"registration without URL and service":   {append(folder, "--register=a"), "Error: registration: exactly one of url and service is needed\n"},
		"URL without registration":               {append(folder, "--url=https://a"), "Error: --url needs --register\n"},
		"invalid service":                        {append(folder, "--register=a", "--service=b:1"), "Error: --service b:1: must be namespace/name or namespace/name:port\n"},
		"URL without TLS":                        {append(folder, "--register=a", "--url=http://a"), "Error: registration: url must be https://"},
		"listen address without a port":          {append(folder, "--listen=x"), "Error: --listen must be host:port\n"},
		"invalid names in the certificate":       {append(folder, "--dns-name=A_B", "--ip-address=1.2.3"), "Error: --dns-name: \"A_B\" is not a DNS name\n--ip-address: \"1.2.3\" is not an address\n"},
		"an optional profile without --gardener": {append(folder, "--gardener-optional=cluster"), "Error: --gardener-optional needs --gardener\n"},
		"invalid log level":                      {append(folder, "--log-level=loud"), "Error: --log-level must be debug"},
		"unknown optional profile":               {append(folder, "--gardener", "--gardener-optional=x"), "Error: reading the profiles of Gardener: there is no optional profile \"x\""},
	} {
		status, said := m.try(t, append(slices.Clone(test.more), "--check")...)
		if about == "invalid log level" {
			continue // which try gives, too
		}
		if !strings.HasPrefix(said, test.want) || (status == 0) != strings.HasPrefix(about, "valid") {
			t.Errorf("%s: %d\n%s", about, status, cmp.Diff(test.want, said))
		}
	}
	if _, err := os.Stat(m.path("x")); err == nil {
		t.Error("--check issues a certificate")
	}
	if status, said := m.try(t, "--certificate-secret=a/b", "--kubeconfig="+m.path("none")); status != 1 || !strings.HasPrefix(said, "Error: reading the kubeconfig: ") {
		t.Errorf("without a kubeconfig: status %d, want 1 and an error: %s", status, said)
	}
}

func TestVersion(t *testing.T) {
	var out, problems bytes.Buffer
	status := Main(t.Context(), "v0.1.0 (0123abc)", []string{"--version"}, &out, &problems)
	if status != 0 || out.String() != "graft-resource-interpreter v0.1.0 (0123abc)\n" || problems.Len() > 0 {
		t.Errorf("status %d, %q, %q", status, out.String(), problems.String())
	}
}
