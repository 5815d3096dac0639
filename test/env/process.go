// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// timeout limits every wait in this package.
const timeout = 60 * time.Second

// Program returns the absolute path of a program that `make build` has built from the repository at root. It returns an
// error if the program is missing, or older than a source file.
func Program(root, name string) (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	program, err := os.Stat(path) // go test does not reuse a cached result after the program has changed
	if err != nil {
		return "", fmt.Errorf("%w; run `make build`", err)
	}
	for _, folder := range []string{"cmd", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(file, "_test.go") {
				return err
			}
			source, err := entry.Info()
			if err == nil && source.ModTime().After(program.ModTime()) {
				err = fmt.Errorf("%s is older than %s; run `make build`", path, file)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return path, nil
}

// Root returns the folder of this module, which is above the working directory of a test.
func Root() string {
	root := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Join("..", root)
	}
	return root
}

// Programs returns the absolute path of bin/ with all programs that `make build` builds. It fails when Program fails
// for one of them.
func Programs(root string) (string, error) {
	folders, err := os.ReadDir(filepath.Join(root, "cmd"))
	if err != nil {
		return "", fmt.Errorf("listing the programs: %w", err)
	}
	bin := ""
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		program, err := Program(root, folder.Name())
		if err != nil {
			return "", err
		}
		bin = filepath.Dir(program)
	}
	return bin, nil
}

// Process is a program in its own process. It is killed when the test process exits.
type Process struct {
	// Log is the standard output and the standard error of the program.
	Log *Log

	command *exec.Cmd
	exited  chan struct{}
}

// Start starts a program with the environment of the test process and additional variables. It returns without waiting
// for the program.
func Start(log *Log, environment []string, path string, arguments ...string) (*Process, error) {
	command := exec.Command(path, arguments...) //nolint:noctx // Stop terminates it as kubelet does
	p := &Process{Log: log, command: command, exited: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(p.command.Environ(), environment...)
	if err := StartCommand(p.command, func(error) { close(p.exited) }); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return p, nil
}

// Exited returns a channel that is closed when the program has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// HasExited reports whether the program has exited.
func (p *Process) HasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// State returns the state of a program that has exited.
func (p *Process) State() *os.ProcessState { return p.command.ProcessState }

// Signal sends a signal to the program.
func (p *Process) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// Kill sends SIGKILL to the program and its children, and waits until they have exited.
func (p *Process) Kill() {
	if !p.HasExited() {
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	}
	<-p.exited
}

// Stop sends SIGTERM and waits until the program has exited. It kills the program and fails if that takes longer than a
// minute.
func (p *Process) Stop() error {
	_ = p.Signal(syscall.SIGTERM)
	return p.Wait()
}

// Wait waits until the program has exited. It kills the program and fails if that takes longer than a minute.
func (p *Process) Wait() error {
	select {
	case <-p.exited:
		return nil
	case <-time.After(timeout):
		p.Kill()
		return errors.New("the program did not exit")
	}
}

// Await calls ready until it returns no error. It fails if the program exits, or after a minute.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the program: %w; its output:\n%s", err, p.Log)
		case <-p.exited:
			return fmt.Errorf("the program exited with %s; its output:\n%s", p.State(), p.Log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Resident returns the resident memory of the program in bytes.
func (p *Process) Resident() (int64, error) { return p.memory("VmRSS:") }

// Peak returns the highest resident memory since ResetPeak, in bytes.
func (p *Process) Peak() (int64, error) { return p.memory("VmHWM:") }

// ResetPeak sets the peak to the current resident memory.
func (p *Process) ResetPeak() error {
	const resetPeak = "5" // Linux: Documentation/filesystems/proc.rst
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.command.Process.Pid), []byte(resetPeak),
		0o200); err != nil {
		return fmt.Errorf("resetting the peak memory of the program: %w", err)
	}
	return nil
}

// memory returns a field of /proc/PID/status in bytes.
func (p *Process) memory(field string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of the program: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), field)
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("reading the memory of the program: %w", err)
	}
	return kilobytes << 10, nil
}
