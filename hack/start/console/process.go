// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/child"
)

// Patience bounds the wait for a program on a machine that does much else: until it answers, and until it ends.
const Patience = 60 * time.Second

// Process is a program that is shown, which can be ended and started again. It is used by one goroutine.
type Process struct {
	// Name is what people call the program, and Log the file for what it says in all its lives.
	Name, Log string

	command *exec.Cmd
	// exited is closed when the program has ended, with the result.
	exited chan struct{}
	result error
}

// Start starts the program and does not wait; see child.Start.
func (p *Process) Start(program string, arguments ...string) error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.Name, err)
	}
	defer func() { _ = log.Close() }()
	command, exited := exec.Command(program, arguments...), make(chan struct{}) //nolint:noctx // Stop ends it, in the order in which a kubelet would
	command.Stdout, command.Stderr = log, log
	if err := child.Start(command, func(err error) { p.result = err; close(exited) }); err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	p.command, p.exited = command, exited
	return nil
}

// Await returns when ready gives no error, which it is asked again and again. That the program ends is an error.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var last error // before the end of ctx became one
	for {
		err := ready(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil || last == nil:
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s (%w): %w; its log ends with:\n%s", p.Name, ctx.Err(), last, p.tail())
		case <-p.exited:
			return p.Ended()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Exited is closed when the program that was started last has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended is the error of a program that was not to end; Exited is closed.
func (p *Process) Ended() error {
	err := p.result
	if err == nil {
		err = errors.New("without an error")
	}
	return fmt.Errorf("%s ended (%w); its log ends with:\n%s", p.Name, err, p.tail())
}

// tail is the end of the log.
func (p *Process) tail() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Kill ends the program as a loss of power does, if it runs.
func (p *Process) Kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill()
	<-p.exited
}

// Stop ends the program as a kubelet does, if it runs: it is asked first, and killed when it takes too long.
func (p *Process) Stop() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(Patience):
		p.Kill()
	}
}
