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

// Shell runs commands one after the other as a person does in one terminal: the working directory, exported variables
// and `$?` of one are there for the next.
type Shell struct {
	state       string // folder in which a command leaves what the next one finds
	environment []string
	status      int
	left        []int // process groups in which something went on when its command had ended
}

// NewShell is a shell in a folder. State is a separate folder; environment is laid over that of the test.
func NewShell(folder, state string, environment ...string) (*Shell, error) {
	if err := os.WriteFile(filepath.Join(state, "folder"), []byte(folder), 0o600); err != nil {
		return nil, fmt.Errorf("preparing a shell: %w", err)
	}
	if err := os.WriteFile(filepath.Join(state, "variables"), nil, 0o600); err != nil {
		return nil, fmt.Errorf("preparing a shell: %w", err)
	}
	return &Shell{state: state, environment: append(os.Environ(), environment...)}, nil
}

// prologue puts the shell where the last command left it, and leaves at its end what the next one finds.
const prologue = `set -o pipefail
. "$GRAFT_TEST_STATE/variables"
cd "$(cat "$GRAFT_TEST_STATE/folder")"
trap 'status=$?; pwd >"$GRAFT_TEST_STATE/folder"; export -p >"$GRAFT_TEST_STATE/variables"; exit $status' EXIT
`

// Run runs a command, or several, and gives what they wrote to both outputs together, and the exit status. An error is
// that of the shell itself, or that time ran out.
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

// Close ends what commands have left behind in the background.
func (s *Shell) Close() {
	for _, group := range s.left {
		_ = syscall.Kill(-group, syscall.SIGKILL) // it may have ended since
	}
	s.left = nil
}

// command is a script in a process group of its own, which ends with the context.
func (s *Shell) command(ctx context.Context, script string) *exec.Cmd {
	text := fmt.Sprintf("%s(exit %d)\n%s\n", prologue, s.status, script)
	command := exec.CommandContext(ctx, "bash", "-c", text)
	command.Env = append(slices.Clone(s.environment), "GRAFT_TEST_STATE="+s.state)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	return command
}

// RunUntil runs a command that runs until Ctrl-C: it waits until the command has printed a text, and interrupts it
// then. The command must end by itself then; its status is not an error.
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
		_ = command.Wait() // the status after an interruption says nothing
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
