// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProcess holds that a program is awaited, ended in both ways, and that all its lives are in one log.
func TestProcess(t *testing.T) {
	p := &Process{Name: "the shell", Log: filepath.Join(t.TempDir(), "log")}
	p.Stop()
	p.Kill()
	said := func(want string) func(context.Context) error {
		return func(context.Context) error {
			if text, err := os.ReadFile(p.Log); err != nil || string(text) != want {
				return errors.New("not yet")
			}
			return nil
		}
	}
	const loop = `trap 'echo asked; exit 0' TERM; echo "$0"; while :; do read -r line; done`
	lives := func(name, log string) {
		t.Helper()
		if err := p.Start("sh", "-c", loop, name); err != nil {
			t.Fatal(err)
		}
		if err := p.Await(t.Context(), said(log)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Exited():
			t.Fatal("it has ended")
		default:
		}
	}
	lives("one", "one\n")
	p.Kill()
	<-p.Exited()
	lives("two", "one\ntwo\n")
	p.Stop()
	<-p.Exited()
	if err := said("one\ntwo\nasked\n")(t.Context()); err != nil {
		t.Error("it was not asked to end")
	}
	p.Stop()
}

// TestProcessFails holds what is said of a program that cannot be started, ends or does not answer.
func TestProcessFails(t *testing.T) {
	folder := t.TempDir()
	never := errors.New("no answer")
	for name, c := range map[string]struct {
		log     string
		program string
		script  string
		want    []string
	}{
		"no folder":  {filepath.Join(folder, "none", "log"), "sh", "true", []string{"opening the log of it"}},
		"no program": {filepath.Join(folder, "program"), "/no/such/program", "", []string{"starting it"}},
		"it ends":    {filepath.Join(folder, "ends"), "sh", "echo out; echo problem >&2; exit 3", []string{"it ended (exit status 3)", "ends with:\nout\nproblem"}},
		"it ends well": {
			filepath.Join(folder, "well"), "sh", "for i in $(seq 30); do echo line $i; done", []string{"it ended (without an error)", "ends with:\nline 16\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Process{Name: "it", Log: c.log}
			err := p.Start(c.program, "-c", c.script)
			if err == nil {
				err = p.Await(t.Context(), func(context.Context) error { return never })
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error should say %q: %v", want, err)
				}
			}
		})
	}
	p := &Process{Name: "it", Log: filepath.Join(folder, "sleeps")}
	if err := p.Start("sleep", "600"); err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	err := p.Await(ctx, func(context.Context) error {
		if asked++; asked == 1 {
			return never
		}
		cancel()
		return errors.New("the end of the context")
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, never) || !strings.Contains(err.Error(), "waiting for it") {
		t.Errorf("it was given up with %v", err)
	}
}
