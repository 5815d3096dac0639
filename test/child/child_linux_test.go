// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package child

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

// asParent has this binary start a program and wait.
const asParent = "GRAFT_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) == "" {
		os.Exit(m.Run())
	}
	c := exec.Command("sleep", "600")
	c.Stdout = os.Stdout
	if err := Start(c, func(error) {}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

// TestDies holds that nothing is left of what was started when its parent was killed: both hold the pipe.
func TestDies(t *testing.T) {
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
		t.Fatalf("the parent says %q, %v", line, err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if _, err := said.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the program lives on: %v", err)
	}
}

// TestEnds holds that the end of a program is told, and a program that cannot be started is an error.
func TestEnds(t *testing.T) {
	ended := make(chan error, 1)
	if err := Start(exec.CommandContext(t.Context(), "false"), func(err error) { ended <- err }); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	if err := Start(exec.CommandContext(t.Context(), "/no/such/program"), func(error) { t.Error("what was not started has ended") }); err == nil {
		t.Error("what is not there was started")
	}
}
