// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Image is the image of Import: busybox only.
const Image = "graft/busybox:1"

// applets are the programs of the image.
var applets = []string{"cat", "ip", "nc", "ping", "sh", "sleep", "true"}

// Dockerd is the engine, with the command line that speaks to it.
type Dockerd struct{ Process }

// Dockerd returns a stopped dockerd. Its networks need no iptables, and it has only the networks that tests create;
// with bridge, also docker0.
func (m *Machine) Dockerd(bridge bool) *Dockerd {
	own := "none"
	if bridge {
		own = ""
	}
	return m.engine("--bridge="+own, "--iptables=false", "--ip6tables=false", "--ip-forward=false")
}

// FilteringDockerd returns a dockerd with default settings: it has docker0 and sets up packet filters. If it enables
// forwarding on the machine, forwarded packets are dropped unless a rule accepts them.
func (m *Machine) FilteringDockerd() *Dockerd {
	return m.engine("--iptables=true", "--ip-forward=true")
}

// engine returns a dockerd with additional arguments.
func (m *Machine) engine(arguments ...string) *Dockerd {
	d := &Dockerd{Process{Name: "dockerd", machine: m}}
	d.command = []string{
		"dockerd", "--host=" + d.Host(), "--data-root=" + filepath.Join(m.Folder, "data"), "--exec-root=/run/docker",
		"--pidfile=/run/docker.pid",
		"--storage-driver=vfs",
		"--ip-masq=false", "--userland-proxy=false",
	}
	d.command = append(d.command, arguments...)
	if m.options.Unprivileged {
		d.command = append(d.command, "--rootless", "--group=root")
	} else {
		d.command = append(d.command, "--exec-opt=native.cgroupdriver=cgroupfs", "--cgroup-parent="+m.Group())
	}
	d.ready = func(ctx context.Context) error {
		_, err := d.Do(ctx, "version")
		return err
	}
	return d
}

// Host returns the address for docker's --host.
func (d *Dockerd) Host() string { return "unix://" + filepath.Join(d.machine.Folder, "docker.sock") }

// Command returns a docker command.
func (d *Dockerd) Command(ctx context.Context, arguments ...string) *exec.Cmd {
	name, err := d.machine.options.find("docker")
	if err != nil {
		name = "docker" // docker then reports that dockerd is not running
	}
	c := exec.CommandContext(ctx, name, arguments...)
	c.Env = append(d.machine.environment(), "DOCKER_HOST="+d.Host())
	return c
}

// Do runs docker, and returns its output.
func (d *Dockerd) Do(ctx context.Context, arguments ...string) (string, error) {
	return said(d.Command(ctx, arguments...))
}

// Import creates the image from Debian's busybox-static.
func (d *Dockerd) Import(ctx context.Context) error {
	busybox, err := d.machine.options.find("busybox")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(busybox)
	if err != nil {
		return fmt.Errorf("reading busybox: %w", err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, header := range []tar.Header{{Name: "bin/", Mode: 0o755, Typeflag: tar.TypeDir},
		{Name: "bin/busybox", Mode: 0o755, Size: int64(len(text))}} {
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, name := range applets {
		if err := w.WriteHeader(&tar.Header{Name: "bin/" + name, Linkname: "busybox", Typeflag: tar.TypeSymlink,
			Mode: 0o777}); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	c := d.Command(ctx, "import", "-", Image)
	c.Stdin = &archive
	if _, err := said(c); err != nil {
		return fmt.Errorf("importing an image: %w", err)
	}
	return nil
}
