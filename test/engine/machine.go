// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// boot is the script of the first process: it mounts the file systems of a new machine and starts its loopback
// interface. It ends when its standard input closes. The machine therefore ends with the test process, even if that was
// killed.
const boot = `
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/docker/plugins /run/lock
if [ -d /etc/docker ]; then mount -t tmpfs -o mode=755 tmpfs /etc/docker; fi
ip link set lo up
echo up
exec docker-init -- cat
`

// Options configure a machine.
type Options struct {
	// Unprivileged machines need no root: they have a user namespace in which the caller is root, and no cgroups.
	Unprivileged bool
	// Unpacked is a folder with Debian packages that are not installed; empty if all are installed.
	Unpacked string
}

// Machine runs a dockerd and a provider. Its folder survives, so that it can be booted again.
type Machine struct {
	// Folder is visible on the machine and on the host. It contains sockets, logs and all durable files.
	Folder string

	options Options
	first   *exec.Cmd
	hold    io.Closer
}

// Boot makes a machine with a separate folder. It needs root, and all packages installed.
func Boot(ctx context.Context) (*Machine, error) { return Options{}.Boot(ctx) }

// Boot makes a machine with a separate folder.
func (o Options) Boot(ctx context.Context) (*Machine, error) {
	folder, err := os.MkdirTemp("", "graft-engine-") // the path of a socket must be short
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	m := &Machine{Folder: folder, options: o}
	if err = m.wrap(); err == nil {
		err = m.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return m, nil
}

// begin starts the first process, and waits until it has mounted all file systems.
func (m *Machine) begin(ctx context.Context) error {
	m.first = exec.Command("/bin/sh", "-ec", boot) //nolint:noctx // the process exits when its standard input ends
	m.first.Env, m.first.Dir, m.first.SysProcAttr = m.environment(), "/", m.options.attributes()
	problems := &strings.Builder{}
	m.first.Stderr = problems
	in, err := m.first.StdinPipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	m.hold = in
	out, err := m.first.StdoutPipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	if err := m.first.Start(); err != nil {
		return fmt.Errorf("making namespaces: %w; root may, and others where the machine lets them make namespaces of users",
			err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "up\n" || ctx.Err() != nil {
		err = errors.Join(err, ctx.Err(), m.end())
		return fmt.Errorf("booting: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	return nil
}

// end kills every process, which removes all mounts and links.
func (m *Machine) end() error {
	if m.first == nil {
		return nil
	}
	err := m.hold.Close()
	_ = m.first.Process.Kill()
	_ = m.first.Wait()
	m.first = nil
	return err
}

// Reboot simulates a loss of power: all processes end at once, links and the content of /run are lost, the disk is
// kept.
func (m *Machine) Reboot(ctx context.Context) error {
	if err := m.end(); err != nil {
		return fmt.Errorf("ending the machine: %w", err)
	}
	return m.begin(ctx)
}

// Halt stops the machine, and removes its files.
func (m *Machine) Halt() error {
	err := m.end()
	if !m.options.Unprivileged {
		err = errors.Join(err, m.removeGroups())
	}
	return errors.Join(err, os.RemoveAll(m.Folder))
}

// Root returns the path on the host of a path of the machine, such as /run.
func (m *Machine) Root(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", m.first.Process.Pid, path)
}

// Group returns the cgroup of the machine's containers.
func (m *Machine) Group() string { return "/" + filepath.Base(m.Folder) }

// removeGroups removes the cgroups of killed containers, in each hierarchy.
func (m *Machine) removeGroups() error {
	var all []string
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		found, err := filepath.Glob(hierarchy + m.Group())
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	for _, group := range all {
		var folders []string
		_ = filepath.WalkDir(group, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		for i := len(folders) - 1; i >= 0; i-- {
			if err := os.Remove(folders[i]); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("removing a cgroup: %w", err)
			}
		}
	}
	return nil
}

// command returns a command for the machine.
func (m *Machine) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(m.first.Process.Pid), "--mount", "--net", "--pid", "--ipc", "--uts"}
	if m.options.Unprivileged {
		enter = append(enter, "--user", "--preserve-credentials")
	}
	c := exec.CommandContext(ctx, "nsenter", append(append(enter, "--", name), arguments...)...)
	c.Env = m.environment()
	return c
}

// Run runs a command on the machine, and returns its output.
func (m *Machine) Run(ctx context.Context, name string, arguments ...string) (string, error) {
	return said(m.command(ctx, name, arguments...))
}

// said runs a command and returns its output; the error contains its standard error.
func said(c *exec.Cmd) (string, error) {
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(problems.String()))
	}
	return strings.TrimSpace(string(out)), err
}
