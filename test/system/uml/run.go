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

// ErrMissing means that user-mode Linux is not installed. hack/system/packages.sh installs it.
var ErrMissing = errors.New("no linux.uml in PATH: run hack/system/packages.sh as root")

// Files of the folder that the guest shares with the machine.
const (
	jobFile    = "job.json"
	statusFile = "status"
	outputFile = "output"
)

// Job is a program to run in a guest.
type Job struct {
	// Command is a program of Files, with arguments. Its working directory is its folder.
	Command []string
	// Files maps paths in the shared folder to files of the machine.
	Files map[string]string `json:"-"`
	// First makes the command the first process of the guest, as systemd needs it. The command writes its exit status to
	// /mnt/shared/status and turns the guest off.
	First bool
	// Modules are kernel modules to load before, with their dependencies.
	Modules []string
	// Env is added to PATH, HOME and TMPDIR.
	Env []string
	// Memory is the memory of the guest in megabytes; 0 means 768.
	Memory int `json:"-"`
}

// Failed is the exit status of a job's program, if it is not 0.
type Failed struct {
	Status int
}

// Error implements error.
func (f *Failed) Error() string {
	return fmt.Sprintf("the program ended with status %d", f.Status)
}

// Run boots a guest that runs the job, and waits until the guest is off or the context ends. It writes the output of
// the program to out, and the messages of the kernel if the program failed. It returns a [Failed] for an exit status
// other than 0.
func Run(ctx context.Context, job Job, out io.Writer) error {
	kernel, err := exec.LookPath("linux.uml")
	if err != nil {
		return ErrMissing
	}
	folder, err := os.MkdirTemp("", "graft-uml-")
	if err != nil {
		return fmt.Errorf("creating a folder for the guest: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := prepare(folder, job); err != nil {
		return err
	}
	messages, ended := boot(ctx, kernel, folder, job.Memory)
	if err := copyOut(out, filepath.Join(folder, outputFile)); err != nil {
		return err
	}
	status, err := os.ReadFile(filepath.Join(folder, statusFile))
	if err != nil {
		err = errors.Join(errors.New("running a guest: it ended without a status"), ended, ctx.Err())
	} else {
		err = judge(string(status))
	}
	if err != nil {
		fmt.Fprintf(out, "\n--- messages of the guest's kernel ---\n%s", messages)
	}
	return err
}

// judge returns the error of a status, which is a number or the error message of the guest.
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

// prepare writes the job and its files into the shared folder.
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
			return fmt.Errorf("copying %s: %w", name, err)
		}
	}
	return nil
}

// copyFile links a file, or copies it if that fails. Programs are large.
func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	from, err := filepath.EvalSymlinks(from) // the guest has another /tmp
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

// registers is the source of a library that the kernel loads first. Its comment says why.
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

// boot runs the kernel and returns its messages. It kills all processes of the guest at the end.
func boot(ctx context.Context, kernel, folder string, memory int) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if memory == 0 {
		memory = 768
	}
	library, err := buildRegisters(ctx, folder)
	if err != nil {
		return "", err
	}
	var messages bytes.Buffer
	c := exec.CommandContext(ctx, kernel, fmt.Sprintf("mem=%dM", memory), "root=/dev/root", "rootfstype=hostfs",
		"rootflags=/", "ro", "quiet",
		"panic=-1", "con=null", "con0=null,fd:1", "ssl=null", "init="+self, folderVariable+"="+folder)
	c.Stdout, c.Stderr = &messages, &messages
	c.Env = []string{"HOME=" + folder, "PATH=" + os.Getenv("PATH"), "LD_PRELOAD=" + library}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if err := c.Start(); err != nil {
		return "", err
	}
	// The kernel hands over to another process for each system call in the guest, which takes long on a busy machine. Only
	// root may raise the priority.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, c.Process.Pid, priority)
	err = c.Wait()
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // processes that are left
	return messages.String(), err
}

// priority of a guest, as a nice value.
const priority = -10

func copyOut(out io.Writer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the output of the program: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.Copy(out, f); err != nil {
		return fmt.Errorf("reading the output of the program: %w", err)
	}
	return nil
}
