// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root    = "../../.."
	service = "graft-network-provider.service"
	socket  = "graft-docker.socket"
	// exposure is the most that systemd may think of what the service could do, of 100.
	exposure = "25"
)

// units are copies of those of the project, which start the program that was built.
func units(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	program, err := filepath.Abs(filepath.Join(root, "bin", "graft-network-provider"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{service, socket} {
		text := strings.ReplaceAll(read(t, name), "/usr/local/bin/graft-network-provider", program)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "hack", "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnits checks that systemd accepts all units, and that the service has few permissions.
func TestUnits(t *testing.T) {
	folder := units(t)
	said, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", filepath.Join(folder, service),
		filepath.Join(folder, socket)).CombinedOutput()
	if err != nil || strings.Contains(string(said), "graft") { // it also names faults of units that the machine has
		t.Errorf("%v\n%s", err, said)
	}
	said, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true",
		"--threshold="+exposure,
		filepath.Join(folder, service)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestNames checks that the units and the configuration use the same socket name, and that Docker finds the socket.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		socket: "\nListenStream=/run/docker/plugins/graft.sock\nFileDescriptorName=graft-docker\nService=" +
			service + "\n",
		service:                 "\nRequires=" + socket + "\n",
		"network-provider.yaml": "\n- address: systemd://graft-docker\n  contracts: [docker]\n",
	} {
		if !strings.Contains(read(t, name), want) {
			t.Errorf("%s does not say%s", name, want)
		}
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "graft"), "lint",
		filepath.Join(root, "hack", "systemd", "network-provider.yaml")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestInstall runs the installation commands of docs/usage/network-provider.md below a folder instead of the machine's
// root.
func TestInstall(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "usage", "network-provider.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```sh\ninstall ")
	block, _, found := strings.Cut("install "+block, "```")
	if !found {
		t.Fatal("the page does not install the units")
	}
	folder := t.TempDir()
	for _, there := range []string{"usr/local/bin", "etc/systemd/system"} {
		if err := os.MkdirAll(filepath.Join(folder, there), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	block = strings.NewReplacer(" /", " "+folder+"/", "systemctl enable --now",
		"systemctl --root="+folder+" enable").Replace(block)
	command := exec.CommandContext(t.Context(), "sh", "-e", "-c", block)
	command.Dir = root
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, name := range []string{
		"usr/local/bin/graft-network-provider", "etc/graft/network-provider.yaml", "etc/graft/network/docker.yaml",
		"etc/systemd/system/sockets.target.wants/" + socket, "etc/systemd/system/multi-user.target.wants/" + service,
	} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}
