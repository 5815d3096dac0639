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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

const (
	// nobody is a user without permissions.
	nobody   = 65534
	patience = time.Minute
	// netAdmin is CAP_NET_ADMIN as the only capability, in /proc.
	netAdmin = "CapEff:\t0000000000001000\n"
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

// unit is the network provider behind a socket of systemd-socket-activate. It runs as nobody with CAP_NET_ADMIN in its
// own network namespace.
type unit struct {
	folder  string
	process *exec.Cmd
	log     bytes.Buffer
	notify  *net.UnixConn
	client  *http.Client
}

// startUnit starts systemd-socket-activate until the end of the spec. The first request starts the program.
func startUnit() *unit {
	GinkgoHelper()
	Expect(os.Getuid()).To(BeZero(), "the test needs root, to run the program as another user")
	folder, err := os.MkdirTemp("", "unit")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, folder)
	u := &unit{folder: folder}
	program, err := os.ReadFile(filepath.Join(root, "bin", "graft-network-provider"))
	Expect(err).NotTo(HaveOccurred(), "`make build` builds the program")
	for name, file := range map[string]struct {
		data []byte
		mode os.FileMode
	}{
		"program": {program, 0o755}, "profile.yaml": {[]byte(profile), 0o644},
		"config.yaml": {fmt.Appendf(nil, configuration, folder), 0o644},
	} {
		Expect(os.WriteFile(filepath.Join(folder, name), file.data, file.mode)).To(Succeed())
	}
	Expect(os.Chown(folder, nobody, nobody)).To(Succeed())
	u.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: u.notifySocket(), Net: "unixgram"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(u.notify.Close)
	Expect(os.Chown(u.notifySocket(), nobody, nobody)).To(Succeed())
	u.run()
	return u
}

// run starts the process and waits for its socket.
func (u *unit) run() {
	GinkgoHelper()
	u.process = exec.Command("sh", "-c", `umask 077 && exec "$0" "$@"`, "systemd-socket-activate",
		"--listen="+u.socket(), "--fdname=graft-docker", "--setenv=NOTIFY_SOCKET="+u.notifySocket(),
		filepath.Join(u.folder, "program"), "--config", filepath.Join(u.folder, "config.yaml"))
	u.process.Stdout, u.process.Stderr = &u.log, &u.log
	u.process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET, Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	}
	Expect(u.process.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = u.process.Process.Kill()
		_ = u.process.Wait()
		if CurrentSpecReport().Failed() {
			AddReportEntry("the log of the network provider", u.log.String())
		}
	})
	u.client = &http.Client{Timeout: patience,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", u.socket())
		}}}
	Eventually(u.socket()).Should(BeAnExistingFile(), "the socket of systemd-socket-activate")
}

func (u *unit) socket() string { return filepath.Join(u.folder, "s") }

func (u *unit) notifySocket() string { return filepath.Join(u.folder, "notify") }

// call sends a request of Docker and returns the answer. It fails for a status other than 200.
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

// expectNotification waits for the next notification of the program to systemd.
func (u *unit) expectNotification(want string) {
	GinkgoHelper()
	Expect(u.notify.SetReadDeadline(time.Now().Add(patience))).To(Succeed())
	buffer := make([]byte, 4096)
	n, err := u.notify.Read(buffer)
	Expect(err).NotTo(HaveOccurred(), "waiting for the notification %s", want)
	Expect(strings.TrimSpace(string(buffer[:n]))).To(Equal(want), "the notification to systemd")
}

var _ = Describe("socket activation", func() {
	It("starts the program for the first request, as a user whose only capability is CAP_NET_ADMIN, and keeps the socket",
		func(ctx context.Context) {
			u := startUnit()
			Expect(call(ctx, u.client, "Plugin.Activate", "")).To(Equal(`{"Implements":["NetworkDriver","IpamDriver"]}`))
			u.expectNotification("READY=1")
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.process.Process.Pid))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(status)).To(And(ContainSubstring(netAdmin), ContainSubstring("Uid:\t%d\t", nobody)), "the process")

			const network, endpoint = `"NetworkID":"aaaaaaaaaaaaaaaa"`, `"EndpointID":"eeeeeeeeeeeeeeee"`
			const pool = `"PoolID":"local/overlay/10.0.0.0/24"`
			for _, step := range []struct{ method, body, want string }{
				{"IpamDriver.RequestPool", `{"AddressSpace":"graft-local","Options":{"profile":"overlay"}}`, pool},
				{"IpamDriver.RequestAddress", `{` + pool + `}`, `"Address":"10.0.0.2/24"`},
				{"NetworkDriver.CreateNetwork", `{` + network + `,"Options":{"com.docker.network.generic":{"profile":"overlay"}},` +
					`"IPv4Data":[{"AddressSpace":"graft-local","Pool":"10.0.0.0/24","Gateway":"10.0.0.1/24"}]}`, `{}`},
				{"NetworkDriver.CreateEndpoint",
					`{` + network + `,` + endpoint + `,"Interface":{"Address":"10.0.0.2/24"}}`, `"MacAddress":`},
				{"NetworkDriver.Join", `{` + network + `,` + endpoint + `,"SandboxKey":"/run/none"}`, `"Gateway":"10.0.0.1"`},
				{"NetworkDriver.Leave", `{` + network + `,` + endpoint + `}`, `{}`},
				{"NetworkDriver.DeleteEndpoint", `{` + network + `,` + endpoint + `}`, `{}`},
				{"IpamDriver.ReleaseAddress", `{` + pool + `,"Address":"10.0.0.2"}`, `{}`},
				{"NetworkDriver.DeleteNetwork", `{` + network + `}`, `{}`},
				{"IpamDriver.ReleasePool", `{` + pool + `}`, `{}`},
			} {
				Expect(call(ctx, u.client, step.method, step.body)).To(
					And(ContainSubstring(step.want), Not(ContainSubstring("Err"))), step.method)
			}

			Expect(u.process.Process.Signal(syscall.SIGTERM)).To(Succeed())
			u.expectNotification("STOPPING=1")
			info, err := os.Stat(u.socket())
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode().Type()).To(Equal(os.ModeSocket), "the type of the socket's file")
		}, NodeTimeout(2*patience))
})
