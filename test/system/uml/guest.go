// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package uml

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// folderVariable has the path of the shared folder. The guest mounts it at shared.
const (
	folderVariable = "GRAFT_UML_FOLDER"
	shared         = "/mnt/shared"
)

// Guest runs the job and turns the guest off if this process is the first one of a guest. Otherwise it returns.
// TestMain calls it first.
func Guest() {
	folder := os.Getenv(folderVariable)
	if os.Getpid() != 1 || folder == "" {
		return
	}
	if err := mount(folder); err != nil {
		fmt.Fprintln(os.Stderr, err) // the kernel shows it on the console
	} else if err := report(work()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// mount mounts the file systems of the kernel, writable folders, and the shared folder.
func mount(folder string) error {
	for _, m := range []struct{ kind, at, data string }{
		{"proc", "/proc", ""}, {"sysfs", "/sys", ""}, {"devtmpfs", "/dev", ""}, {"tmpfs", "/run", "mode=755"},
		{"tmpfs", "/tmp", "mode=1777"},
		{"tmpfs", "/mnt", "mode=755"}, {"tmpfs", "/var/lib", "mode=755"}, {"hostfs", shared, folder},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return fmt.Errorf("creating %s: %w", m.at, err)
		}
		// the kernel has mounted /dev
		if err := unix.Mount(m.kind, m.at, m.kind, 0, m.data); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mounting %s: %w", m.at, err)
		}
	}
	return nil
}

// work loads the modules and runs the command. Its error is either an ExitError or a reason why the command did not
// run.
func work() error {
	raw, err := os.ReadFile(filepath.Join(shared, jobFile))
	if err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	var job Job
	if err := json.Unmarshal(raw, &job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	if err := load(job.Modules); err != nil {
		return err
	}
	// A kube-apiserver labels its Lease with the hostname.
	if err := unix.Sethostname([]byte("guest")); err != nil {
		return fmt.Errorf("setting the hostname: %w", err)
	}
	if err := up("lo"); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(shared, outputFile))
	if err != nil {
		return fmt.Errorf("creating the file for the output: %w", err)
	}
	defer func() { _ = out.Close() }()
	program := filepath.Join(shared, job.Command[0])
	c := exec.Command(program, job.Command[1:]...) //nolint:noctx // the machine stops the whole guest
	c.Dir, c.Stdout, c.Stderr = filepath.Dir(c.Path), out, out
	c.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "TMPDIR=/tmp"}, job.Env...)
	if job.First {
		return become(c, out)
	}
	return c.Run()
}

// become replaces this process by the command. It returns only if that fails.
func become(c *exec.Cmd, out *os.File) error {
	if err := os.Chdir(c.Dir); err != nil {
		return fmt.Errorf("executing the command: %w", err)
	}
	for _, standard := range []int{1, 2} {
		if err := unix.Dup3(int(out.Fd()), standard, 0); err != nil {
			return fmt.Errorf("executing the command: %w", err)
		}
	}
	return fmt.Errorf("executing the command: %w", unix.Exec(c.Path, c.Args, c.Env))
}

// report writes the exit status, or the error, for the machine.
func report(err error) error {
	status := "0"
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		status = strconv.Itoa(exit.ExitCode())
	case err != nil:
		status = err.Error()
	}
	return os.WriteFile(filepath.Join(shared, statusFile), []byte(status), 0o600)
}

// up sets an interface up.
func up(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	request.SetUint16(uint16(net.FlagUp) | unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("setting %s up: %w", name, err)
	}
	return nil
}
