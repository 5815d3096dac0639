// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// session is the input of a terminal and its result; the screen is in a file next to it that ends in .txt.
type session struct {
	// Command is run by bash, in a terminal with Width columns, with more variables in its environment.
	Command     string
	Width       int
	Environment map[string]string
	// Setup is run before, and not shown.
	Setup string
	// Steps come one after the other.
	Steps []sessionStep
	// Status is the exit status.
	Status int
	// Made are the files that are new in the end, changed or gone; nothing else may be.
	Made []string
}

// sessionStep waits for a text, types one, or changes the width of the terminal.
type sessionStep struct {
	Wait, Type string
	Resize     int
}

// sessionTime bounds the wait for a text.
const sessionTime = time.Minute

// TestSessions plays sessions under a real pseudo terminal.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/sessions/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no sessions (%v)", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			screen := play(t, readSession(t, file))
			path := strings.TrimSuffix(file, ".yaml") + ".txt"
			want, err := os.ReadFile(path)
			if err == nil && Matches(string(want), screen) {
				return
			}
			golden.Compare(t, path, Update(string(want), screen))
		})
	}
}

func readSession(t *testing.T, file string) session {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	decoder.KnownFields(true)
	var s session
	if err := decoder.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// play gives the screen at the end of a session.
func play(t *testing.T, s session) string {
	t.Helper()
	folder := checkout(t)
	temporary := t.TempDir()
	environment := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "TMPDIR="+temporary)
	for name, value := range s.Environment {
		environment = append(environment, name+"="+value)
	}
	if s.Setup != "" {
		setup := exec.CommandContext(t.Context(), "bash", "-ec", s.Setup)
		setup.Dir, setup.Env = folder, environment
		if output, err := setup.CombinedOutput(); err != nil {
			t.Fatalf("setup: %v\n%s", err, output)
		}
	}
	before := contents(t, folder)
	command := exec.CommandContext(t.Context(), "bash", "-c", "exec "+s.Command)
	command.Dir, command.Env = folder, environment
	terminal, err := Open(command, max(s.Width, 20))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range s.Steps {
		do(t, terminal, step)
	}
	status, err := terminal.Close(sessionTime)
	if err != nil || status != s.Status {
		t.Errorf("the status is %d, want %d (%v)", status, s.Status, err)
	}
	if diff := cmp.Diff(s.Made, changes(before, contents(t, folder)), cmp.Transformer("sorted", sorted)); diff != "" {
		t.Errorf("files (-session +got):\n%s", diff)
	}
	if left := contents(t, temporary); len(left) > 0 {
		t.Errorf("left behind among temporary files: %v", left)
	}
	return terminal.Screen()
}

func do(t *testing.T, terminal *Terminal, step sessionStep) {
	t.Helper()
	if step.Resize > 0 {
		if err := terminal.Resize(step.Resize); err != nil {
			t.Fatal(err)
		}
	}
	if step.Wait != "" && !terminal.Wait(step.Wait, sessionTime) {
		t.Fatalf("%q does not come; the screen:\n%s", step.Wait, terminal.Screen())
	}
	if step.Type != "" {
		if err := terminal.Type(step.Type); err != nil {
			t.Fatal(err)
		}
	}
}
