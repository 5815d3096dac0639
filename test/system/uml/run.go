// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package uml

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrMissing means that there is no user-mode Linux; hack/system/packages.sh installs it.
var ErrMissing = errors.New("no linux.uml in PATH: run hack/system/packages.sh as root")

// The files of the folder that a guest shares with its machine.
const (
	jobFile    = "job.json"
	statusFile = "status"
	outputFile = "output"
)

// Job is what a guest does.
type Job struct {
	// Command is a program of Files, and its arguments. It is run where it stands.
	Command []string
	// Files are those of the machine that the command needs, by the names that they have in the guest, which may be in
	// folders.
	Files map[string]string `json:"-"`
	// First says that the command takes the place of the guest's first process, as systemd must. It leaves its status in
	// the file "status" of the folder at /mnt/shared, where the others leave what they say, and turns the guest off.
	First bool
	// Modules are loaded into the guest's kernel before, with all that they need.
	Modules []string
	// Env is added to the little that there is: PATH, HOME and TMPDIR.
	Env []string
	// Memory is the guest's, in megabytes; 0: 768.
	Memory int `json:"-"`
}

// Failed reports that a job's program ended with a status that is not 0.
type Failed struct {
	Status int
}

// Error is for people.
func (f *Failed) Error() string {
	return fmt.Sprintf("the program ended with status %d", f.Status)
}

// Run boots a guest, which does the job, and waits until it is off, or the context ends it. What the program printed is
// written to out; if it failed, what the guest's kernel said as well.
func Run(ctx context.Context, job Job, out io.Writer) error {
	kernel, err := exec.LookPath("linux.uml")
	if err != nil {
		return ErrMissing
	}
	folder, err := os.MkdirTemp("", "graft-uml-")
	if err != nil {
		return fmt.Errorf("making a folder for the guest: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := prepare(folder, job); err != nil {
		return err
	}
	said, ended := boot(ctx, kernel, folder, job.Memory)
	if err := copyOut(out, filepath.Join(folder, outputFile)); err != nil {
		return err
	}
	status, err := os.ReadFile(filepath.Join(folder, statusFile))
	if err != nil {
		err = errors.Join(errors.New("running a guest: it went without a status"), ended, ctx.Err())
	} else {
		err = judge(string(status))
	}
	if err != nil {
		fmt.Fprintf(out, "\n--- what the guest's kernel said ---\n%s", said)
	}
	return err
}

// judge makes an error of a status: a number, or what the guest could not do.
func judge(status string) error {
	number, err := strconv.Atoi(strings.TrimSpace(status))
	switch {
	case err != nil:
		return fmt.Errorf("running a guest: %s", status)
	case number != 0:
		return &Failed{Status: number}
	}
	return nil
}

// prepare fills the shared folder.
func prepare(folder string, job Job) error {
	raw, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("writing the job: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, jobFile), raw, 0o600); err != nil {
		return fmt.Errorf("writing the job: %w", err)
	}
	for name, path := range job.Files {
		if err := copyFile(filepath.Join(folder, name), path); err != nil {
			return fmt.Errorf("handing over %s: %w", name, err)
		}
	}
	return nil
}

// copyFile copies a file, or makes a link to it where that can be had: programs are big.
func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	from, err := filepath.EvalSymlinks(from) // there is nothing in the guest's /tmp
	if err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// registers is the source of the library that the kernel loads first; it explains why.
//
//go:embed testdata/xstate.c
var registers []byte

// buildRegisters compiles the library into a folder and returns its path. It fails without a C compiler.
func buildRegisters(ctx context.Context, folder string) (string, error) {
	library := filepath.Join(folder, "xstate.so")
	c := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O1", "-x", "c", "-o", library, "-")
	c.Stdin = bytes.NewReader(registers)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling testdata/xstate.c: %w\n%s", err, out)
	}
	return library, nil
}

// boot runs the kernel until it ends, and returns what it said. All its processes end with it.
func boot(ctx context.Context, kernel, folder string, memory int) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the guest's first program: %w", err)
	}
	if memory == 0 {
		memory = 768
	}
	library, err := buildRegisters(ctx, folder)
	if err != nil {
		return "", err
	}
	var said bytes.Buffer
	c := exec.CommandContext(ctx, kernel, fmt.Sprintf("mem=%dM", memory), "root=/dev/root", "rootfstype=hostfs",
		"rootflags=/", "ro", "quiet",
		"panic=-1", "con=null", "con0=null,fd:1", "ssl=null", "init="+self, folderVariable+"="+folder)
	c.Stdout, c.Stderr = &said, &said
	c.Env = []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH"), "LD_PRELOAD=" + library}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	err = c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what it has left
	}
	return said.String(), err
}

func copyOut(out io.Writer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what the program said: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.Copy(out, f); err != nil {
		return fmt.Errorf("reading what the program said: %w", err)
	}
	return nil
}
