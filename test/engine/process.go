// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience bounds every wait for a process. A dockerd waits 15 seconds for each thing that it wants of a plugin that is
// not there.
const patience = 3 * time.Minute

// Process is one program on a machine, which can be ended and started again.
type Process struct {
	// Name is that of the log in the machine's folder, without .log.
	Name string

	machine *Machine
	command []string
	ready   func(context.Context) error

	pid   int
	ended chan struct{}
}

// Log is the path of the process's output, over all its restarts.
func (p *Process) Log() string { return filepath.Join(p.machine.Folder, p.Name+".log") }

// Begin starts the program with additional arguments, and does not wait.
func (p *Process) Begin(arguments ...string) error {
	log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = log.Close() }()
	c := p.machine.command(context.Background(), p.command[0],
		append(p.command[1:len(p.command):len(p.command)], arguments...)...)
	c.Stdout, c.Stderr = log, log
	// A group of its own: Ctrl-C in a terminal reaches the caller only.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	ended := make(chan struct{})
	p.pid, p.ended = c.Process.Pid, ended
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	return nil
}

// Start starts the program and waits until it answers.
func (p *Process) Start(ctx context.Context, arguments ...string) error {
	if err := p.Begin(arguments...); err != nil {
		return err
	}
	return p.Ready(ctx)
}

// Ready waits until the program answers.
func (p *Process) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; its log ends with:\n%s", p.Name, err, p.Tail())
		case <-p.ended:
			return fmt.Errorf("%s has ended by itself; its log ends with:\n%s", p.Name, p.Tail())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Tail is the end of the log.
func (p *Process) Tail() string {
	text, _ := os.ReadFile(p.Log())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Kill ends the program as a loss of power does, and waits for its end. Its child processes continue.
func (p *Process) Kill() error { return p.signal(syscall.SIGKILL) }

// Stop asks the program to end, and waits until it has.
func (p *Process) Stop() error { return p.signal(syscall.SIGTERM) }

func (p *Process) signal(signal syscall.Signal) error {
	if p.ended == nil {
		return nil
	}
	pid, err := p.inner()
	if err == nil {
		err = syscall.Kill(pid, signal)
	}
	select {
	case <-p.ended:
		p.ended = nil
		return nil
	case <-time.After(patience):
		return errors.Join(err, fmt.Errorf("%s does not end; its log ends with:\n%s", p.Name, p.Tail()))
	}
}

// inner is the process itself: the child of the one that has entered the machine.
func (p *Process) inner() (int, error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.pid, p.pid))
		if err != nil {
			return 0, fmt.Errorf("looking for the process: %w", err)
		}
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			return strconv.Atoi(fields[0])
		}
	}
	return 0, errors.New("looking for the process: there is none")
}
