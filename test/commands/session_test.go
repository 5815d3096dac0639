// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	// Made are the files that the session adds, changes or removes. It may change no others.
	Made []string
}

// sessionStep waits for a text, types one, or changes the width of the terminal.
type sessionStep struct {
	Wait, Type string
	Resize     int
}

// sessionTime bounds the wait for a text.
const sessionTime = time.Minute

// Sessions run under a real pseudo terminal.
var _ = Describe("a session in a terminal", func() {
	files, err := filepath.Glob("testdata/sessions/*.yaml")
	It("exists", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
	})
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		It("shows the screen of "+name, func(ctx SpecContext) {
			screen := play(ctx, readSession(file))
			path := strings.TrimSuffix(file, ".yaml") + ".txt"
			want, err := os.ReadFile(path)
			if err == nil && Matches(string(want), screen) {
				return
			}
			golden.Compare(GinkgoTB(), path, Update(string(want), screen))
		})
	}
})

func readSession(file string) session {
	GinkgoHelper()
	content, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	var s session
	Expect(decoder.Decode(&s)).To(Succeed(), "decoding %s", file)
	return s
}

// play returns the screen at the end of a session.
func play(ctx SpecContext, s session) string {
	GinkgoHelper()
	folder := checkout(ctx)
	temporary := GinkgoT().TempDir()
	environment := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8",
		"NO_COLOR=", "TMPDIR="+temporary)
	for name, value := range s.Environment {
		environment = append(environment, name+"="+value)
	}
	if s.Setup != "" {
		setup := exec.CommandContext(ctx, "bash", "-ec", s.Setup)
		setup.Dir, setup.Env = folder, environment
		output, err := setup.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "the setup, which prints\n%s", output)
	}
	before := contents(folder)
	command := exec.CommandContext(ctx, "bash", "-c", "exec "+s.Command)
	command.Dir, command.Env = folder, environment
	terminal, err := Open(command, max(s.Width, 20))
	Expect(err).NotTo(HaveOccurred(), "opening a terminal")
	for _, step := range s.Steps {
		do(terminal, step)
	}
	status, err := terminal.Close(sessionTime)
	Expect(err).NotTo(HaveOccurred(), "closing the terminal")
	Expect(status).To(Equal(s.Status), "the exit status; the screen:\n%s", terminal.Screen())
	Expect(changes(before, contents(folder))).To(ConsistOf(s.Made),
		"files that the command has created, changed or removed")
	Expect(contents(temporary)).To(BeEmpty(), "files left in the folder for temporary files")
	return terminal.Screen()
}

func do(terminal *Terminal, step sessionStep) {
	GinkgoHelper()
	if step.Resize > 0 {
		Expect(terminal.Resize(step.Resize)).To(Succeed(), "resizing the terminal")
	}
	if step.Wait != "" {
		Expect(terminal.Wait(step.Wait, sessionTime)).To(BeTrue(), "waiting for %q; the screen:\n%s", step.Wait,
			terminal.Screen())
	}
	if step.Type != "" {
		Expect(terminal.Type(step.Type)).To(Succeed(), "typing %q", step.Type)
	}
}
