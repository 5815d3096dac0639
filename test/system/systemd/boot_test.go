// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

// guestVariable has the path of the file for the exit status of a guest.
const guestVariable = "GRAFT_UNITS_GUEST"

func TestMain(m *testing.M) {
	uml.Guest()
	if file := os.Getenv(kubeletVariable); file != "" {
		os.Exit(writeStatus(file, kubeletGuest()))
	}
	if file := os.Getenv(guestVariable); file != "" {
		os.Exit(writeStatus(file, guest()))
	}
	os.Exit(m.Run())
}

func TestSystemd(t *testing.T) { suite.Run(t, "systemd", "docker", "root", "slow") }

// writeStatus prints an error, writes the exit status of a guest, and returns it.
func writeStatus(file string, err error) int {
	status := "0"
	if err != nil {
		fmt.Println(err)
		status = "1"
	}
	if err := os.WriteFile(file, []byte(status), 0o600); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

var _ = Describe("a machine that boots with the units", func() {
	// guest runs inside the machine.
	It("answers Docker as an unprivileged user, also after the service was killed or stopped", func(ctx context.Context) {
		units := func(name string) string { return filepath.Join(root, "hack", "systemd", name) }
		output := bootGuest(ctx, uml.Job{
			Command: []string{"boot.sh"}, Modules: []string{"bridge", "veth", "macvlan", "ipvlan", "8021q", "vxlan", "dummy"},
			Files: map[string]string{
				"boot.sh":                filepath.Join("testdata", "boot.sh"),
				"graft-network-provider": filepath.Join(root, "bin", "graft-network-provider"),
				service:                  units(service), socket: units(socket),
				"network-provider.yaml": units("network-provider.yaml"),
				"docker.yaml":           filepath.Join(root, "example", "network", "docker.yaml"),
			},
		})
		Expect(output).To(ContainSubstring("IpamDriver.ReleasePool: {}"), "the last request was sent")
	}, NodeTimeout(5*time.Minute))
})

// bootGuest boots a guest with systemd, which runs this program, and returns the output. The guest must succeed.
func bootGuest(ctx context.Context, job uml.Job) string {
	GinkgoHelper()
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	job.First, job.Files["guest"] = true, self
	var output bytes.Buffer
	Expect(uml.Run(ctx, job, &output)).To(Succeed(), "the guest: %s", &output)
	return output.String()
}

// pluginSocket is the socket at which Docker finds the driver.
const pluginSocket = "/run/docker/plugins/graft.sock"

// guest sends the requests of Docker to the service, and kills and stops the service in between.
func guest() error {
	client := &http.Client{Timeout: time.Minute,
		Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", pluginSocket)
			}}}
	send := func(method, body, want string) error {
		start := time.Now()
		got, err := call(context.Background(), client, method, body)
		fmt.Printf("%s: %s (%s)\n", method, got, time.Since(start).Round(time.Millisecond))
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, `"Err"`) {
			return fmt.Errorf("%s: %s, %w, want %s", method, got, err, want)
		}
		return nil
	}
	const network, endpoint = `"NetworkID":"aaaaaaaaaaaaaaaa"`, `"EndpointID":"eeeeeeeeeeeeeeee"`
	const pool = `"PoolID":"local/overlay/10.72.0.0/16"`
	return errors.Join(
		checkMode(pluginSocket, 0o600),
		send("Plugin.Activate", "", "NetworkDriver"),
		send("IpamDriver.RequestPool", `{"AddressSpace":"graft-local","Options":{"profile":"acme.com/overlay"}}`, pool),
		send("IpamDriver.RequestAddress", `{`+pool+`}`, `"Address":"10.72.1.16/16"`),
		send("NetworkDriver.CreateNetwork",
			`{`+network+`,"Options":{"com.docker.network.generic":{"profile":"acme.com/overlay"}},`+
				`"IPv4Data":[{"AddressSpace":"graft-local","Pool":"10.72.0.0/16","Gateway":"10.72.0.1/16"}]}`, `{}`),
		send("NetworkDriver.CreateEndpoint",
			`{`+network+`,`+endpoint+`,"Interface":{"Address":"10.72.1.16/16"}}`, `"MacAddress":"0a:58:`),
		send("NetworkDriver.Join", `{`+network+`,`+endpoint+`,"SandboxKey":"/run/none"}`, `"Gateway":"10.72.0.1"`),
		checkPermissions(),
		checkLinks(true),
		// The request waits in the socket until systemd has restarted the service.
		systemctl("kill", "--signal=KILL", service),
		send("NetworkDriver.EndpointOperInfo", `{`+network+`,`+endpoint+`}`, `"Value":{}`),
		// The request starts the stopped service.
		systemctl("stop", service),
		send("NetworkDriver.Leave", `{`+network+`,`+endpoint+`}`, `{}`),
		send("NetworkDriver.DeleteEndpoint", `{`+network+`,`+endpoint+`}`, `{}`),
		send("IpamDriver.ReleaseAddress", `{`+pool+`,"Address":"10.72.1.16"}`, `{}`),
		send("NetworkDriver.DeleteNetwork", `{`+network+`}`, `{}`),
		send("IpamDriver.ReleasePool", `{`+pool+`}`, `{}`),
		checkLinks(false),
	)
}

// checkMode checks the permissions of a file.
func checkMode(path string, mode os.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm() != mode {
		err = fmt.Errorf("%s has the permissions %v, want %v", path, info.Mode().Perm(), mode)
	}
	return err
}

// checkPermissions checks that the service does not run as root and has one capability.
func checkPermissions() error {
	pid, err := exec.Command("systemctl", "show", "--property=MainPID", "--value", service).Output()
	if err != nil {
		return fmt.Errorf("finding the process: %w", err)
	}
	status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/status")
	if err != nil || !strings.Contains(string(status), netAdmin) || strings.Contains(string(status), "Uid:\t0\t") {
		return fmt.Errorf("the process has other permissions: %w\n%s", err, status)
	}
	return nil
}

// checkLinks checks whether links of networks exist.
func checkLinks(want bool) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	var ours []string
	for _, i := range all {
		if strings.HasPrefix(i.Name, "gb") || strings.HasPrefix(i.Name, "gv") || strings.HasPrefix(i.Name, "gh") {
			ours = append(ours, i.Name)
		}
	}
	if want != (len(ours) > 0) {
		return fmt.Errorf("links of networks: %v, want some: %t", ours, want)
	}
	return nil
}

func systemctl(arguments ...string) error {
	if output, err := exec.Command("systemctl", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return nil
}
