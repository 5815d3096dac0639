// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// step is a request with the expected answer, or an event between requests.
type step struct {
	About  string          `json:"about"`
	Path   string          `json:"path"`
	Method string          `json:"method"`
	Body   json.RawMessage `json:"body"`
	// Raw is a body as it is sent, in the place of Body.
	Raw    *string `json:"raw"`
	Status int     `json:"status"`
	// Answer is the expected body: JSON, or a text; a star matches anything. Absent: empty.
	Answer any `json:"answer"`
	// Held are all expected allocations in the ledger.
	Held    *[]string `json:"held"`
	Restart bool      `json:"restart"`
	Advance string    `json:"advance"`
}

// TestCases replays captured requests of clients and compares the answers.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*/steps.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no test cases found", err)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			document := filepath.Join(folder, "profile.yaml")
			if _, err := os.Stat(document); err != nil {
				document = "testdata/profile.yaml"
			}
			w := newWorld(t, document, nil)
			for i, s := range readSteps(t, file) {
				w.step(fmt.Sprintf("step %d %s %s", i+1, s.Path, s.About), s)
			}
		})
	}
}

func readSteps(t *testing.T, file string) []step {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	if err := yaml.UnmarshalStrict(raw, &steps); err != nil {
		t.Fatal(err)
	}
	return steps
}

func (w *world) step(name string, s step) {
	w.t.Helper()
	switch {
	case s.Restart:
		w.shut()
		w.open()
	case s.Advance != "":
		span, err := time.ParseDuration(s.Advance)
		if err != nil {
			w.t.Fatal(err)
		}
		w.clock.Step(span)
		if _, err := w.ledger.Expire(w.t.Context(), w.clock.Now()); err != nil {
			w.t.Fatal(err)
		}
	case s.Path != "":
		w.request(name, s)
	}
	if s.Held != nil {
		if diff := cmp.Diff(*s.Held, w.held()); diff != "" {
			w.t.Errorf("%s: what is held (-want +got):\n%s", name, diff)
		}
	}
}

func (w *world) request(name string, s step) {
	w.t.Helper()
	method, body := s.Method, string(s.Body)
	if s.Raw != nil {
		body = *s.Raw
	}
	if method == "" {
		method = http.MethodPost
		if s.Body == nil && s.Raw == nil {
			method = http.MethodGet
		}
	}
	if s.Status == 0 {
		s.Status = http.StatusOK
	}
	status, answer, header := w.call(w.t.Context(), method, s.Path, body)
	if status != s.Status {
		w.t.Errorf("%s: got %d %s, want %d", name, status, answer, s.Status)
		return
	}
	if strings.Contains(answer, "\n") && status != http.StatusOK || len(answer) > 1000 {
		w.t.Errorf("%s: want one line of at most 1000 bytes for an Event, got %q", name, answer)
	}
	var got any = answer
	if header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
	}
	if s.Answer == nil {
		s.Answer = ""
	}
	if diff := env.DiffWildcard(s.Answer, got); diff != "" {
		w.t.Errorf("%s: the answer (-want +got):\n%s", name, diff)
	}
}
