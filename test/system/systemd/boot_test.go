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

	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

// guestVariable names the file in which a guest leaves its status.
const guestVariable = "GRAFT_UNITS_GUEST"

func TestMain(m *testing.M) {
	uml.Guest()
	if file := os.Getenv(guestVariable); file != "" {
		os.Exit(leave(file, guest()))
	}
	if file := os.Getenv(effectiveVariable); file != "" {
		os.Exit(leave(file, effectiveGuest()))
	}
	if self, err := os.Executable(); err == nil && self == argumentsProgram {
		if err := writeArguments(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// leave writes the status of a guest, and what went wrong.
func leave(file string, err error) int {
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

// TestBoot boots a machine with the units, all kinds of links, and systemd as its first process. guest runs inside it.
func TestBoot(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	units := func(name string) string { return filepath.Join(root, "hack", "systemd", name) }
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out bytes.Buffer
	err = uml.Run(ctx, uml.Job{
		Command: []string{"boot.sh"}, First: true, Modules: []string{"bridge", "veth", "macvlan", "ipvlan", "8021q", "vxlan", "dummy"},
		Files: map[string]string{
			"boot.sh": filepath.Join("testdata", "boot.sh"), "guest": self,
			"graft-network-provider": filepath.Join(root, "bin", "graft-network-provider"),
			service:                  units(service), socket: units(socket), "network-provider.yaml": units("network-provider.yaml"),
			"docker.yaml": filepath.Join(root, "example", "network", "docker.yaml"),
		},
	}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

// pluginSocket is where Docker would look for the driver.
const pluginSocket = "/run/docker/plugins/graft.sock"

// guest asks the service for all that Docker asks it for, while it is killed and stopped.
func guest() error {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", pluginSocket)
	}}}
	ask := func(method, body, want string) error {
		began := time.Now()
		got, err := call(context.Background(), client, method, body)
		fmt.Printf("%s: %s (%s)\n", method, got, time.Since(began).Round(time.Millisecond))
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, `"Err"`) {
			return fmt.Errorf("%s: %s, %w, want %s", method, got, err, want)
		}
		return nil
	}
	const network, endpoint = `"NetworkID":"aaaaaaaaaaaaaaaa"`, `"EndpointID":"eeeeeeeeeeeeeeee"`
	return errors.Join(
		owned(pluginSocket, 0o600),
		ask("Plugin.Activate", "", "NetworkDriver"),
		ask("NetworkDriver.CreateNetwork", `{`+network+`,"Options":{"com.docker.network.generic":{"profile":"acme.com/overlay"}},`+
			`"IPv4Data":[{"AddressSpace":"null","Pool":"0.0.0.0/0"}]}`, `{}`),
		ask("NetworkDriver.CreateEndpoint", `{`+network+`,`+endpoint+`,"Interface":{}}`, `"Address":"10.72.1.16/16"`),
		ask("NetworkDriver.Join", `{`+network+`,`+endpoint+`,"SandboxKey":"/run/none"}`, `"Gateway":"10.72.0.1"`),
		narrow(),
		links(true),
		// systemd starts it again, and the call waits in the socket meanwhile.
		systemctl("kill", "--signal=KILL", service),
		ask("NetworkDriver.EndpointOperInfo", `{`+network+`,`+endpoint+`}`, `"kind":"bridge"`),
		// Whoever asks a service that was stopped starts it.
		systemctl("stop", service),
		ask("NetworkDriver.Leave", `{`+network+`,`+endpoint+`}`, `{}`),
		ask("NetworkDriver.DeleteEndpoint", `{`+network+`,`+endpoint+`}`, `{}`),
		ask("NetworkDriver.DeleteNetwork", `{`+network+`}`, `{}`),
		links(false),
	)
}

// owned holds the mode of a file.
func owned(path string, mode os.FileMode) error {
	there, err := os.Stat(path)
	if err != nil || there.Mode().Perm() != mode {
		return fmt.Errorf("%s: %v, %w", path, there, err)
	}
	return nil
}

// narrow checks that the service is not root, and may change the network alone.
func narrow() error {
	pid, err := exec.Command("systemctl", "show", "--property=MainPID", "--value", service).Output()
	if err != nil {
		return fmt.Errorf("asking for the process: %w", err)
	}
	status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/status")
	if err != nil || !strings.Contains(string(status), rights) || strings.Contains(string(status), "Uid:\t0\t") {
		return fmt.Errorf("the process: %w\n%s", err, status)
	}
	return nil
}

// links checks whether there are links of networks.
func links(want bool) error {
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
		return fmt.Errorf("there are the links %v", ours)
	}
	return nil
}

func systemctl(arguments ...string) error {
	if said, err := exec.Command("systemctl", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(arguments, " "), err, said)
	}
	return nil
}
