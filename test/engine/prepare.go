// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrUnavailable means that dockerd is not installed and cannot be downloaded.
var ErrUnavailable = errors.New("dockerd cannot be had")

// packages are the required Debian packages, and programs the programs in them.
var (
	packages = []string{"docker.io", "busybox-static", "iproute2"}
	programs = []string{"docker", "dockerd", "containerd", "runc", "docker-init", "busybox", "ip"}
)

// Prepare searches the programs in a checkout. Missing ones come from Debian's packages: root installs them, other
// users unpack them into a folder. It logs each step.
func Prepare(ctx context.Context, out io.Writer) (Options, error) {
	o := Options{Unprivileged: os.Geteuid() != 0}
	if o.Unprivileged {
		fmt.Fprintln(out, "WITHOUT ROOT: dockerd runs in a namespace of users, where you are root, and without cgroups; "+
			"all else is as with root.")
	}
	missing := o.missing()
	if missing == "" {
		return o, nil
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return o, fmt.Errorf("%w: there is no %s here, and no %s to get it with", ErrUnavailable, missing, tool)
		}
	}
	if !o.Unprivileged {
		return o, script(ctx, out, "packages.sh", packages...)
	}
	folder, err := filepath.Abs(filepath.Join(".cache", "docker"))
	if err != nil {
		return o, err
	}
	o.Unpacked = folder
	fmt.Fprintf(out, "==> Debian's docker.io, busybox-static, iproute2 and what they need: unpacked into %s, not "+
		"installed (70 MB)\n", folder)
	return o, script(ctx, out, "unpack.sh", append([]string{folder}, packages...)...)
}

// missing returns the first program that does not exist, or an empty string.
func (o Options) missing() string {
	for _, name := range programs {
		path, err := o.find(name)
		if err != nil || name == "busybox" && !static(path) {
			return name
		}
	}
	return ""
}

// static reports whether a program needs no other file, because a container contains only the program.
func static(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// script runs a script of hack/system.
func script(ctx context.Context, out io.Writer, name string, arguments ...string) error {
	c := exec.CommandContext(ctx, filepath.Join("hack", "system", name), arguments...)
	c.Stdout, c.Stderr = out, out
	if err := c.Run(); err != nil {
		return fmt.Errorf("getting Debian's packages: %w", err)
	}
	return nil
}
