// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const ofSystemd = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles: {paths: [%[1]s/profile.yaml]}
ledger: {path: %[1]s/ledger}
listeners: [{address: "systemd://%[2]s", contracts: [dranet]}]
metrics: {address: "0"}
logging: {level: info, format: text}
`

// passed is a program that is passed a socket with a mode.
func passed(t *testing.T, name string, mode os.FileMode) *program {
	t.Helper()
	p := &program{env.NewNetworkProvider(t), t}
	p.Write("profile.yaml", fmt.Sprintf(strings.Replace(profile, "{subnets", "{exclusive: true, subnets", 1), 9))
	p.Write("config.yaml", fmt.Sprintf(ofSystemd, p.Folder, name))
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	if err := os.Chmod(p.Socket(), mode); err != nil {
		t.Fatal(err)
	}
	file, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	p.Sockets = map[string]*os.File{"graft-dranet": file}
	return p
}

// TestSockets holds that a socket which systemd has opened is answered and stays when the program ends, and that who comes while there is no program
// waits for the next one.
func TestSockets(t *testing.T) {
	p := passed(t, "graft-dranet", 0o600)
	p.Start()
	p.Ready()
	first, status := p.allocate("one")
	if first == "" {
		t.Fatalf("status %d; it said\n%s", status, p.Log)
	}
	for name, end := range map[string]func(){"killed": p.Kill, "stopped": func() { p.Stop() }} {
		t.Run(name, func(t *testing.T) {
			end()
			p.WaitExit()
			if there, err := os.Stat(p.Socket()); err != nil || there.Mode().Type() != os.ModeSocket {
				t.Fatalf("the socket is gone: %v", err)
			}
			answer := make(chan string)
			go func() {
				address, _ := p.allocate("one")
				answer <- address
			}()
			select {
			case got := <-answer:
				t.Fatalf("nobody is there, and the answer is %q", got)
			case <-time.After(300 * time.Millisecond):
			}
			p.Start()
			if got := <-answer; got != first {
				t.Errorf("who has waited has got %q, want %q", got, first)
			}
		})
	}
}

// TestSocketsRefused holds that the program ends where systemd has passed no such socket, or one that everybody can open.
func TestSocketsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		socket string
		mode   os.FileMode
		want   string
	}{
		"a socket for everybody": {"graft-dranet", 0o666, "write SocketMode=0600 in its unit"},
		"another name":           {"graft-docker", 0o600, "systemd has passed no socket with the FileDescriptorName graft-docker: there is graft-dranet"},
	} {
		t.Run(name, func(t *testing.T) {
			p := passed(t, test.socket, test.mode)
			p.Start()
			if status := p.WaitExit(); status != 1 || !strings.Contains(p.Log.String(), test.want) {
				t.Errorf("the status is %d; it said\n%s", status, p.Log)
			}
		})
	}
}

// TestSocketsUnclaimed holds that a socket without a listener is told.
func TestSocketsUnclaimed(t *testing.T) {
	p := passed(t, "graft-dranet", 0o600)
	p.Sockets["spare"] = p.Sockets["graft-dranet"]
	p.Start()
	p.Ready()
	if status, said := p.Post("/GetProfileConfig", "one", wanted); status != http.StatusOK {
		t.Errorf("%d: %s", status, said)
	}
	if !strings.Contains(p.Log.String(), "spare") {
		t.Errorf("it said\n%s", p.Log)
	}
}
