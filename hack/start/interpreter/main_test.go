// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/interpret"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestAnswers holds that the answers which are shown are those of the rules, and that another one would be found.
func TestAnswers(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	rules, err := compile(served)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			results, err := s.ask(t.Context(), rules)
			if err != nil {
				t.Fatal(err)
			}
			if n := interpret.Failed(results); n > 0 {
				t.Errorf("%d questions have no answer: %+v", n, results)
			}
			raw, err := yaml.Marshal(interpret.DocumentOf(results))
			if err != nil {
				t.Fatal(err)
			}
			const head = "# SPDX-FileCopyrightText: The Graft authors\n#\n# SPDX-License-Identifier: Apache-2.0\n\n"
			golden.Compare(t, s.beside("answers"), head+string(raw))
			if err := s.check(results); err != nil {
				t.Error(err)
			}
			results[1].Answers[1].Response.Healthy = new(!*results[1].Answers[1].Response.Healthy)
			if err := s.check(results); err == nil || !strings.Contains(err.Error(), "healthy") {
				t.Errorf("another health is not found: %v", err)
			}
		})
	}
}

// TestRefused holds which answers about a kind that nobody knows are as they should be.
func TestRefused(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"response":{"uid":"1","successful":false,"status":{"code":404,"message":"m"}}}`: true,
		`{"response":{"uid":"1","successful":true,"healthy":true}}`:                       false,
		`{"response":{"uid":"1","successful":false,"status":{"code":500}}}`:               false,
		`{"response":{"uid":"2","successful":false,"status":{"code":404}}}`:               false,
		`{"response":{"uid":"1","successful":false}}`:                                     false,
		`{}`: false,
		`x`:  false,
	} {
		if err := refused([]byte(answer)); (err == nil) != want {
			t.Errorf("%s: %v", answer, err)
		}
	}
	var asked struct {
		Request struct{ Kind interpreter.Kind }
	}
	if err := json.Unmarshal([]byte(unknown), &asked); err != nil || asked.Request.Kind.Kind != "Dragon" {
		t.Errorf("asked is %+v, %v", asked, err)
	}
}

// TestListening holds that the program is found by what it logs.
func TestListening(t *testing.T) {
	const line = "2026-03-01T10:00:00.000Z\tINFO\tserver\tListening\t{\"address\": \"127.0.0.1:46861\"}\n"
	if found := listening.FindStringSubmatch(line); len(found) != 2 || found[1] != "127.0.0.1:46861" {
		t.Errorf("found %q", found)
	}
}

// TestWrong holds the status of a wrong command line, and of a program that is not there or ends at once.
func TestWrong(t *testing.T) {
	t.Setenv("ONCE", "1")
	none := filepath.Join(t.TempDir(), "none")
	ends := filepath.Join(t.TempDir(), "ends")
	if err := os.WriteFile(ends, []byte("#!/bin/sh\necho no >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[int][][]string{2: {{"-what"}}, 1: {{"-program", none}, {"-program", ends}}} {
		for _, a := range arguments {
			if status := console.Run(t.Context(), "test", program, served, a, show); status != want {
				t.Errorf("%q: status %d", a, status)
			}
		}
	}
}
