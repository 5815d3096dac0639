// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// asParent is the environment variable that makes this test binary start a program and wait.
const asParent = "GRAFT_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	c := exec.Command("sleep", "600")
	c.Stdout = os.Stdout
	if err := StartCommand(c, func(error) {}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

// TestStartCommandDiesWithParent checks that a program exits when its parent is killed: both hold the write end of the
// pipe.
func TestStartCommandDiesWithParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	parent.Stderr = os.Stderr
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	parent.Stdout = writer
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if err := reader.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(reader)
	if line, err := said.ReadString('\n'); line != "started\n" {
		t.Fatalf("the parent printed %q, %v; want \"started\"", line, err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if _, err := said.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("reading from the program after its parent was killed: %v; want EOF", err)
	}
}

// TestStartCommandExit checks the reported exit of a program, and the error for a program that cannot be started.
func TestStartCommandExit(t *testing.T) {
	exited := make(chan error, 1)
	if err := StartCommand(exec.CommandContext(t.Context(), "false"), func(err error) { exited <- err }); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-exited; !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("exit of false: %v; want exit status 1", err)
	}
	unexpected := func(error) { t.Error("exited was called for a program that was not started") }
	if err := StartCommand(exec.CommandContext(t.Context(), "/no/such/program"), unexpected); err == nil {
		t.Error("starting a missing program succeeded; want an error")
	}
}
