// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// packages are those of Debian that are needed, and programs say that they are installed.
var (
	packages = []string{"docker.io", "busybox-static", "iproute2"}
	programs = []string{"/usr/bin/docker", "/usr/sbin/dockerd", "/usr/bin/containerd", "/usr/sbin/runc", "/usr/bin/docker-init", "/bin/busybox", "/bin/ip"}
)

// prepare gets Debian's packages: root installs those that are missing, others unpack them into a folder, and say so.
func prepare(ctx context.Context, t *console.Terminal) (engine.Options, error) {
	if os.Geteuid() == 0 {
		return engine.Options{}, script(ctx, t, "packages.sh", packages...)
	}
	t.Line("%s dockerd runs in a namespace of users, where you are root, and without cgroups; all else is as with root.", t.Bold("WITHOUT ROOT:"))
	o := engine.Options{Unprivileged: true}
	for _, program := range programs {
		if _, err := os.Stat(program); err == nil {
			continue
		}
		folder, err := filepath.Abs(filepath.Join(".cache", "docker"))
		if err != nil {
			return o, err
		}
		o.Unpacked = folder
		t.Line("==> Debian's docker.io, busybox-static, iproute2 and what they need: unpacked into %s, not installed (70 MB)", folder)
		return o, script(ctx, t, "unpack.sh", append([]string{folder}, packages...)...)
	}
	return o, nil
}

// script runs one of hack/system.
func script(ctx context.Context, t *console.Terminal, name string, arguments ...string) error {
	c := exec.CommandContext(ctx, filepath.Join("hack", "system", name), arguments...)
	c.Stdout, c.Stderr = t, t
	if err := c.Run(); err != nil {
		return fmt.Errorf("getting Debian's packages: %w", err)
	}
	return nil
}
