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

// patience limits every wait for a process. A dockerd waits 15 seconds for each request to a plugin that does not run.
const patience = 3 * time.Minute

// Process is a program on a machine that can be stopped and started again.
type Process struct {
	// Name is the name of the log file in the machine's folder, without .log.
	Name string

	machine *Machine
	command []string
	ready   func(context.Context) error

	pid   int
	ended chan struct{}
}

// Log returns the path of the output of all runs.
func (p *Process) Log() string { return filepath.Join(p.machine.Folder, p.Name+".log") }

// Begin starts the program with additional arguments, without waiting for it.
func (p *Process) Begin(arguments ...string) error {
	log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = log.Close() }()
	c := p.machine.command(context.Background(), p.command[0],
		append(p.command[1:len(p.command):len(p.command)], arguments...)...)
	c.Stdout, c.Stderr = log, log
	// A separate process group: Ctrl-C in a terminal reaches only the caller.
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

// Tail returns the end of the log.
func (p *Process) Tail() string {
	text, _ := os.ReadFile(p.Log())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Kill kills the program like a loss of power, and waits until it has exited. Its child processes continue.
func (p *Process) Kill() error { return p.signal(syscall.SIGKILL) }

// Stop sends SIGTERM and waits until the program has exited.
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

// inner returns the process ID of the program: the child of the process that has entered the machine.
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
