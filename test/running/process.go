// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package running

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

	"github.com/graft-provider/gardener-extension-provider-graft/test/child"
)

// patience bounds every wait. It is long, since a wait ends as soon as what it waits for is there.
const patience = 60 * time.Second

// Build links a program of the repository whose root is given into a folder, and gives its path. It reads the sources of the programs, which tests do not
// link, so that go test sees when they change and a result in its cache is of no use. Without other flags than those of make, packages come from the cache.
func Build(ctx context.Context, root, name, folder string, flags ...string) (string, error) {
	if err := fs.WalkDir(os.DirFS(root), "cmd", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(filepath.Join(root, path))
		return err
	}); err != nil {
		return "", fmt.Errorf("reading the sources of the program: %w", err)
	}
	path := filepath.Join(folder, name)
	command := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-o", path, "./cmd/"+name)...)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return path, nil
}

// Built is an error if a program has not been built.
func Built(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w; `make build` builds it", err)
	}
	return nil
}

// Process is a program in a process of its own, which ends with the tests at the latest.
type Process struct {
	// Log is what it says.
	Log *Log

	command *exec.Cmd
	exited  chan struct{}
}

// Start starts a program, and does not wait. It says to the log what it says, and has the environment of the tests.
func Start(log *Log, environment []string, path string, arguments ...string) (*Process, error) {
	p := &Process{Log: log, command: exec.Command(path, arguments...), exited: make(chan struct{})} //nolint:noctx // Stop ends it, as a kubelet would
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(p.command.Environ(), environment...)
	if err := child.Start(p.command, func(error) { close(p.exited) }); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return p, nil
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended says whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// State is how the program has ended, which it must have.
func (p *Process) State() *os.ProcessState { return p.command.ProcessState }

// Signal sends a signal to the program.
func (p *Process) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// Kill ends the program as a loss of power does, if it runs.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// Stop ends the program as a kubelet does, if it runs: it is asked first. That it has to be killed is an error.
func (p *Process) Stop() error {
	_ = p.Signal(syscall.SIGTERM)
	return p.Wait()
}

// Wait waits for a program that ends. That it has to be killed is an error.
func (p *Process) Wait() error {
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
		p.Kill()
		return errors.New("the program did not end")
	}
}

// Await returns when ready gives no error, which it is asked again and again. That the program ends is an error.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the program: %w; it said\n%s", err, p.Log)
		case <-p.exited:
			return fmt.Errorf("the program ended with %s; it said\n%s", p.State(), p.Log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Resident returns how much memory the program takes, in bytes.
func (p *Process) Resident() (int64, error) { return p.memory("VmRSS:") }

// Peak returns the most memory that the program has taken since ResetPeak, in bytes.
func (p *Process) Peak() (int64, error) { return p.memory("VmHWM:") }

// ResetPeak makes Peak count from now on.
func (p *Process) ResetPeak() error {
	const resetPeak = "5" // Linux: Documentation/filesystems/proc.rst
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.command.Process.Pid), []byte(resetPeak), 0o200); err != nil {
		return fmt.Errorf("resetting the peak memory of the program: %w", err)
	}
	return nil
}

// memory returns a field of the program's status, in bytes.
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
