// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// commandTime bounds one command.
const commandTime = 2 * time.Minute

// Shell runs commands one after the other, like a user in one terminal: the next command sees the working directory,
// exported variables and `$?` of the previous one.
type Shell struct {
	state       string // folder with the state that is passed to the next command
	environment []string
	status      int
	left        []int // process groups that continued after their command had ended
}

// NewShell returns a shell in a folder. State is a separate folder; environment is added to that of the test.
func NewShell(folder, state string, environment ...string) (*Shell, error) {
	if err := os.WriteFile(filepath.Join(state, "folder"), []byte(folder), 0o600); err != nil {
		return nil, fmt.Errorf("preparing a shell: %w", err)
	}
	if err := os.WriteFile(filepath.Join(state, "variables"), nil, 0o600); err != nil {
		return nil, fmt.Errorf("preparing a shell: %w", err)
	}
	return &Shell{state: state, environment: append(os.Environ(), environment...)}, nil
}

// prologue restores the state of the previous command, and saves it at the end for the next one.
const prologue = `set -o pipefail
. "$GRAFT_TEST_STATE/variables"
cd "$(cat "$GRAFT_TEST_STATE/folder")"
trap 'status=$?; pwd >"$GRAFT_TEST_STATE/folder"; export -p >"$GRAFT_TEST_STATE/variables"; exit $status' EXIT
`

// Run runs one or more commands, and returns their combined output and the exit status. It fails if the shell fails or
// the time is over.
func (s *Shell) Run(ctx context.Context, script string) (string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	var output bytes.Buffer
	command := s.command(ctx, script)
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if command.Process != nil && syscall.Kill(-command.Process.Pid, 0) == nil {
		s.left = append(s.left, command.Process.Pid)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return output.String(), -1, fmt.Errorf("waiting for the command: %w", ctx.Err())
	case errors.As(err, &exit):
		s.status = exit.ExitCode()
	case err != nil:
		return output.String(), -1, fmt.Errorf("running the command: %w", err)
	default:
		s.status = 0
	}
	return output.String(), s.status, nil
}

// Close kills background processes of the commands.
func (s *Shell) Close() {
	for _, group := range s.left {
		_ = syscall.Kill(-group, syscall.SIGKILL) // it may have exited before
	}
	s.left = nil
}

// command returns a script that runs in its own process group and ends with the context.
func (s *Shell) command(ctx context.Context, script string) *exec.Cmd {
	text := fmt.Sprintf("%s(exit %d)\n%s\n", prologue, s.status, script)
	command := exec.CommandContext(ctx, "bash", "-c", text)
	command.Env = append(slices.Clone(s.environment), "GRAFT_TEST_STATE="+s.state)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	return command
}

// RunUntil runs a command that runs until Ctrl-C: it waits until the command has printed a text, and interrupts it. The
// command must exit by itself; its status is ignored.
func (s *Shell) RunUntil(ctx context.Context, script, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	output := &watched{text: text, seen: make(chan struct{})}
	command := s.command(ctx, "exec "+strings.TrimSpace(script))
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return "", fmt.Errorf("starting the command: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // the status after an interruption is not meaningful
	}()
	select {
	case <-ended:
		return output.String(), fmt.Errorf("the command has ended before it printed %q", text)
	case <-output.seen:
	}
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGINT); err != nil {
		return output.String(), fmt.Errorf("interrupting the command: %w", err)
	}
	<-ended
	if ctx.Err() != nil {
		return output.String(), fmt.Errorf("waiting for the end of the command: %w", ctx.Err())
	}
	return output.String(), nil
}
