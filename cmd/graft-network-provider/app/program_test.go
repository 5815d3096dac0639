// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
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

// node is a folder with the files of one server.
type node struct {
	folder string
	// more are arguments in place of the socket.
	more []string
	*env.InProcess
}

func newNode(t *testing.T) *node { return &node{folder: t.TempDir()} }

func (n *node) path(name string) string { return filepath.Join(n.folder, name) }

// profile writes the profile: a pool with these ranges.
func (n *node) profile(t *testing.T, ranges, more string) {
	t.Helper()
	text := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfile\nmetadata: {name: acme}\n" +
		"pools:\n  overlay: {nodes: [worker-1], subnets: [{prefix: 10.0.0.0/24, ranges: [" + ranges + "]}]" + more + "}\n" +
		"profiles: {acme.com/overlay: {pools: [overlay]}}\n"
	if err := os.WriteFile(n.path("acme.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (n *node) arguments(more ...string) []string {
	listen := []string{"--listen=dranet=unix://" + n.path("d.sock")}
	if n.more != nil {
		listen = n.more
	}
	return slices.Concat([]string{
		"--node=worker-1", "--profiles=" + n.path("acme.yaml"), "--ledger=" + n.path("ledger"), "--metrics-address=127.0.0.1:0", "--log-format=text",
	}, listen, more)
}

// start begins the program, and waits until it listens.
func (n *node) start(t *testing.T) {
	t.Helper()
	n.InProcess = env.Main(Main).Start(t, n.arguments()...)
}

// try starts a program that should end by itself, and returns its output.
func (n *node) try(t *testing.T, more ...string) (status int, said string) {
	t.Helper()
	return n.main(t, n.arguments(append(more, "--log-level=error")...)...)
}

// main is try with all arguments.
func (n *node) main(t *testing.T, arguments ...string) (status int, said string) {
	t.Helper()
	return env.Main(Main).Try(t, n.folder, arguments...)
}

// ask posts to the socket.
func (n *node) ask(t *testing.T, path, claim string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", n.path("d.sock"))
	}, DisableKeepAlives: true}}
	body := `{"device":{"name":"pci-0000-27-00-2"},"claim_uid":"` + claim + `","config":{"profile":"acme.com/overlay","interface":{"name":"net1"}}}`
	response, err := client.Post("http://localhost/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(response.Status + " " + string(text))
}

const (
	eight = `200 OK {"interface":{"addresses":["10.0.0.8/24"]}}`
	nine  = `200 OK {"interface":{"addresses":["10.0.0.9/24"]}}`
	seven = `200 OK {"interface":{"addresses":["10.0.0.7/24"]}}`
)

const stranded = `Error: held allocations would be outside of their pools (overlay): 1
  10.0.0.9 of the pool overlay, held by ResourceClaim b
Either restore the addresses of the pool, or release the allocations first;
or write whenShrunk: drain in the pool: then owners keep them, and they are not allocated again after their release.
`

// TestProgram runs a server on a node through allocations, profile changes and restarts.
func TestProgram(t *testing.T) {
	n := newNode(t)
	n.profile(t, "10.0.0.8-10.0.0.9", "")
	n.start(t)
	get := func(claim string) string { return n.ask(t, "GetProfileConfig", claim) }
	for _, step := range []struct{ claim, want string }{{"a", eight}, {"b", nine}, {"a", eight}} {
		if got := get(step.claim); got != step.want {
			t.Errorf("%s: %s", step.claim, got)
		}
	}
	if got := get("c"); !strings.HasPrefix(got, "503") && !strings.HasPrefix(got, "500") {
		t.Errorf("want an answer of status 503 or 500 beyond the limit, got %s", got)
	}

	n.profile(t, "10.0.0.7-10.0.0.8", "")
	n.Eventually(t, func() bool { return strings.Contains(n.Log.String(), "the previous ones stay active") })
	if !strings.Contains(n.Log.String(), "10.0.0.9 of the pool overlay, held by ResourceClaim b") {
		t.Errorf("the log is %s", n.Log)
	}
	if got := get("b"); got != nine {
		t.Errorf("b: %s", got)
	}
	n.Stop(t)
	if _, err := os.Stat(n.path("d.sock")); err == nil {
		t.Error("the socket still exists after the program has exited")
	}
	if status, said := n.try(t); status != 1 || said != stranded {
		t.Errorf("a start: %d\n%s", status, cmp.Diff(stranded, said))
	}

	n.profile(t, "10.0.0.7-10.0.0.8", ", whenShrunk: drain")
	n.start(t)
	for _, step := range []struct{ claim, want string }{{"b", nine}, {"a", eight}, {"c", seven}} {
		if got := get(step.claim); got != step.want {
			t.Errorf("%s after a restart: %s", step.claim, got)
		}
	}
	if status, said := n.try(t); status != 1 || !strings.Contains(said, "held by another program") {
		t.Errorf("a second server: %d, %s", status, said)
	}
	for _, claim := range []string{"a", "b", "c", "c"} {
		if got := n.ask(t, "ReleaseProfileConfig", claim); got != "200 OK" {
			t.Errorf("the release of %s: %s", claim, got)
		}
	}
	n.profile(t, "10.0.0.9", "")
	n.Eventually(t, func() bool { return strings.Count(n.Log.String(), "Activated profiles") == 2 })
	if got := get("d"); got != nine {
		t.Errorf("d: %s", got)
	}
	n.Stop(t)
}

// TestSpiderpool checks that a TCP listener serves its contract, and no other contract.
func TestSpiderpool(t *testing.T) {
	n := newNode(t)
	n.profile(t, "10.0.0.9", "")
	text := `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
listeners: [{address: "tcp://127.0.0.1:0", contracts: [spiderpool]}]
shutdown: {delay: 0s}
`
	if err := os.WriteFile(n.path("config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.more = []string{"--config=" + n.path("config.yaml")}
	n.start(t)
	address := regexp.MustCompile(`tcp://(127\.0\.0\.1:[0-9]+)`).FindStringSubmatch(n.Log.String())
	if len(address) < 2 || strings.HasSuffix(address[1], ":0") {
		t.Fatalf("the log has no address of the listener: %s", n.Log)
	}
	post := func(path, body string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address[1]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.Status + " " + string(text)
	}
	const allocate, body = "/v1/apis/network.iaas.io/ipam/allocate-ips", `{"podName":"p","podNamespace":"n","podUID":"u","nodeName":"worker-1",` +
		`"iaasIPsAllocationRequest":[{"ipAddress":"10.0.0.9","subnet":"10.0.0.0/24","parentNicMac":"46:0a:1b:2c:3d:4e"}]}`
	for _, test := range []struct{ path, want string }{
		{allocate, "200 OK "},
		{"/GetProfileConfig", "404 Not Found "},
	} {
		if got := post(test.path, body); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s", test.path, got)
		}
	}
	n.Stop(t)
}

// TestRefusesToStart checks the messages of invalid installations.
func TestRefusesToStart(t *testing.T) {
	n := newNode(t)
	for name, test := range map[string]struct {
		more []string
		want string
	}{
		"a document": {nil, `acme.yaml:5:73: pools.overlay.subnets[0].ranges[0]: "x" is not an IP address`},
		"no file":    {[]string{"--profiles=" + n.path("missing.yaml")}, "Error: finding profiles: stat missing.yaml: no such file or directory\n"},
	} {
		n.profile(t, "x", "")
		if status, said := n.try(t, test.more...); status != 1 || !strings.HasPrefix(said, test.want) {
			t.Errorf("%s: %d, %s", name, status, said)
		}
	}
	if err := errors.Join(os.MkdirAll(n.path("in"), 0o755), os.Symlink("../acme.yaml", n.path("in/link.yaml")), syscall.Mkfifo(n.path("in/pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"in": "in/link.yaml: it is or contains a link that leads out of the folder", "in/pipe": "in/pipe: it is a pipe"} {
		if status, said := n.try(t, "--profiles="+n.path(path)); status != 1 || !strings.Contains(said, want) {
			t.Errorf("%s: %d, %s", path, status, said)
		}
	}
	n.profile(t, "10.0.0.9", "")
	if status, said := n.try(t, "--node=worker-2"); status != 1 || !strings.Contains(said, `no pool is for the node "worker-2"`) {
		t.Errorf("with another node: status %d, want 1 and an error about the pools: %s", status, said)
	}
	if err := os.WriteFile(n.path("d.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, said := n.try(t); status != 1 || !strings.Contains(said, "d.sock exists and is not a socket: remove it, or choose another path") {
		t.Errorf("with a file in place of the socket: status %d, want 1 and an error that names it: %s", status, said)
	}
	if left, err := filepath.Glob(n.path("*.sock")); err != nil || len(left) != 1 {
		t.Errorf("want one socket to remain, got %v, %v", left, err)
	}
	if status, said := n.try(t, "--metrics-address=256.0.0.1:1"); status != 1 || said == "" {
		t.Errorf("with an invalid address: status %d, want 1 and an error: %s", status, said)
	}
}

func TestCheckOnly(t *testing.T) {
	n := newNode(t)
	n.profile(t, "10.0.0.9", "")
	if status, said := n.try(t, "--check"); status != 0 || said != "ok: pools overlay; profiles acme.com/overlay\n" {
		t.Errorf("%d, %s", status, said)
	}
	if _, err := os.Stat(n.path("ledger")); err == nil {
		t.Error("a ledger was made")
	}
	n.profile(t, "10.0.0.9", ", mtv: 1500")
	if status, said := n.try(t, "--check"); status != 1 || !strings.Contains(said, `unknown field "mtv" (did you mean "mtu"?)`) {
		t.Errorf("%d, %s", status, said)
	}
}

func TestVersion(t *testing.T) {
	var out, problems bytes.Buffer
	status := Main(t.Context(), "v0.1.0 (0123abc)", []string{"--version"}, &out, &problems)
	if status != 0 || out.String() != "graft-network-provider v0.1.0 (0123abc)\n" || problems.Len() > 0 {
		t.Errorf("status %d, %q, %q", status, out.String(), problems.String())
	}
}
