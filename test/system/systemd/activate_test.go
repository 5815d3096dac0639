// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package systemd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// nobody is a user that has nothing.
	nobody   = 65534
	patience = time.Minute
	// rights are CAP_NET_ADMIN alone, as /proc shows them.
	rights = "CapEff:\t0000000000001000\n"
)

const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "systemd://graft-docker", contracts: [docker]}]
metrics: {address: "0"}
logging: {format: text}
`

const profile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: systemd}
pools:
  overlay: {exclusive: true, subnets: [{prefix: 10.0.0.0/24, gateway: 10.0.0.1}]}
profiles:
  overlay: {pools: [overlay], link: {kind: bridge}}
`

// unit is the program behind a socket that systemd's own program has opened, as a user who may change the network of a
// namespace of its own.
type unit struct {
	folder  string
	process *exec.Cmd
	log     bytes.Buffer
	told    *net.UnixConn
	client  *http.Client
}

// start makes the folder, and starts systemd-socket-activate: the program itself is started by the first caller.
func start(t *testing.T) *unit {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this needs root, for a user of its own")
	}
	u := &unit{}
	var err error
	if u.folder, err = os.MkdirTemp("", "unit"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(u.folder) })
	program, err := os.ReadFile(filepath.Join(root, "bin", "graft-network-provider"))
	if err != nil {
		t.Fatalf("%v; `make build` builds it", err)
	}
	for name, file := range map[string]struct {
		data []byte
		mode os.FileMode
	}{"program": {program, 0o755}, "profile.yaml": {[]byte(profile), 0o644},
		"config.yaml": {fmt.Appendf(nil, configuration, u.folder), 0o644}} {
		if err := os.WriteFile(filepath.Join(u.folder, name), file.data, file.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(u.folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if u.told, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(u.folder, "told"), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.told.Close() })
	if err := os.Chown(filepath.Join(u.folder, "told"), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	u.run(t)
	return u
}

// run starts the process, which is ended with the test.
func (u *unit) run(t *testing.T) {
	t.Helper()
	u.process = exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", `umask 077 && exec "$0" "$@"`,
		"systemd-socket-activate",
		"--listen="+u.socket(), "--fdname=graft-docker", "--setenv=NOTIFY_SOCKET="+filepath.Join(u.folder, "told"),
		filepath.Join(u.folder, "program"), "--config", filepath.Join(u.folder, "config.yaml"))
	u.process.Stdout, u.process.Stderr = &u.log, &u.log
	u.process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET, Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	}
	if err := u.process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = u.process.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = u.process.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("it said\n%s", u.log.String())
		}
	})
	u.client = &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", u.socket())
	}}}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(u.socket()); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the socket was not created in time; output:\n%s", u.log.String())
		}
	}
}

func (u *unit) socket() string { return filepath.Join(u.folder, "s") }

// call makes a call of Docker's contract, and returns the answer.
func call(ctx context.Context, client *http.Client, method, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://plugin.moby.localhost/"+method,
		strings.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the status is %s", response.Status)
	}
	return strings.TrimSpace(string(text)), err
}

func (u *unit) call(t *testing.T, method, body string) string {
	t.Helper()
	answer, err := call(t.Context(), u.client, method, body)
	if err != nil {
		t.Fatalf("%s: %s, %v", method, answer, err)
	}
	return answer
}

// hear waits until the program tells systemd something.
func (u *unit) hear(t *testing.T, want string) {
	t.Helper()
	if err := u.told.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	n, err := u.told.Read(buffer)
	if err != nil || strings.TrimSpace(string(buffer[:n])) != want {
		t.Errorf("systemd is told %q, %v, want %q", buffer[:n], err, want)
	}
}

// TestActivation checks that the first caller starts the program and is answered, that the permissions of the unit
// suffice for networks and endpoints, that systemd is notified of readiness and shutdown, and that the socket stays.
func TestActivation(t *testing.T) {
	u := start(t)
	if got := u.call(t, "Plugin.Activate", ""); got != `{"Implements":["NetworkDriver","IpamDriver"]}` {
		t.Errorf("the manifest is %s", got)
	}
	u.hear(t, "READY=1")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.process.Process.Pid))
	if err != nil || !strings.Contains(string(status), rights) ||
		!strings.Contains(string(status), fmt.Sprintf("Uid:\t%d\t", nobody)) {
		t.Errorf("the process is %s, %v", status, err)
	}
	const network, endpoint = `"NetworkID":"aaaaaaaaaaaaaaaa"`, `"EndpointID":"eeeeeeeeeeeeeeee"`
	for _, step := range []struct{ method, body, want string }{
		{"NetworkDriver.CreateNetwork", `{` + network + `,"Options":{"com.docker.network.generic":{"profile":"overlay"}},"IPv4Data":[{"AddressSpace":"null","Pool":"0.0.0.0/0"}]}`, `{}`},
		{"NetworkDriver.CreateEndpoint", `{` + network + `,` + endpoint + `,"Interface":{}}`, `"Address":"10.0.0.2/24"`},
		{"NetworkDriver.Join", `{` + network + `,` + endpoint + `,"SandboxKey":"/run/none"}`, `"Gateway":"10.0.0.1"`},
		{"NetworkDriver.Leave", `{` + network + `,` + endpoint + `}`, `{}`},
		{"NetworkDriver.DeleteEndpoint", `{` + network + `,` + endpoint + `}`, `{}`},
		{"NetworkDriver.DeleteNetwork", `{` + network + `}`, `{}`},
	} {
		if got := u.call(t, step.method, step.body); !strings.Contains(got, step.want) || strings.Contains(got, "Err") {
			t.Errorf("%s: %s, want %s", step.method, got, step.want)
		}
	}
	if err := u.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	u.hear(t, "STOPPING=1")
	if there, err := os.Stat(u.socket()); err != nil || there.Mode().Type() != os.ModeSocket {
		t.Errorf("the socket is gone: %v", err)
	}
}
