// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// packages are those of Debian that are needed, and programs say that they are installed.
var (
	packages = []string{"docker.io", "busybox-static", "iproute2"}
	programs = []string{"/usr/bin/docker", "/usr/sbin/dockerd", "/usr/bin/containerd", "/usr/sbin/runc", "/usr/bin/docker-init", "/bin/busybox", "/bin/ip"}
)

// Prepare gets Debian's packages, in a checkout: root installs those that are missing, others unpack them into a folder. What is done is said.
func Prepare(ctx context.Context, out io.Writer) (Options, error) {
	if os.Geteuid() == 0 {
		return Options{}, script(ctx, out, "packages.sh", packages...)
	}
	fmt.Fprintln(out, "WITHOUT ROOT: dockerd runs in a namespace of users, where you are root, and without cgroups; all else is as with root.")
	o := Options{Unprivileged: true}
	for _, program := range programs {
		if _, err := os.Stat(program); err == nil {
			continue
		}
		folder, err := filepath.Abs(filepath.Join(".cache", "docker"))
		if err != nil {
			return o, err
		}
		o.Unpacked = folder
		fmt.Fprintf(out, "==> Debian's docker.io, busybox-static, iproute2 and what they need: unpacked into %s, not installed (70 MB)\n", folder)
		return o, script(ctx, out, "unpack.sh", append([]string{folder}, packages...)...)
	}
	return o, nil
}

// script runs one of hack/system.
func script(ctx context.Context, out io.Writer, name string, arguments ...string) error {
	c := exec.CommandContext(ctx, filepath.Join("hack", "system", name), arguments...)
	c.Stdout, c.Stderr = out, out
	if err := c.Run(); err != nil {
		return fmt.Errorf("getting Debian's packages: %w", err)
	}
	return nil
}
