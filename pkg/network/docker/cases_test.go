// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"encoding/json"
	"errors"
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
	About string `json:"about"`
	// Call is the method, or Path another path; Body is sent as JSON, or Raw unchanged.
	Call   string          `json:"call"`
	Path   string          `json:"path"`
	Method string          `json:"method"`
	Body   json.RawMessage `json:"body"`
	Raw    *string         `json:"raw"`
	// Status is 200 by default, and Answer the expected body, {} by default; a star in its texts matches anything.
	Status int `json:"status"`
	Answer any `json:"answer"`
	// Held are all expected rows in the ledger, Links all expected links in the kernel.
	Held  *[]string `json:"held"`
	Links *[]string `json:"links"`
	// Fails are kernel calls that fail once, with the error.
	Fails   map[string]string `json:"fails"`
	Restart bool              `json:"restart"`
	// Reboot removes all links, and Advance advances the clock.
	Reboot  bool   `json:"reboot"`
	Advance string `json:"advance"`
}

// TestCases replays requests of clients and compares the answers.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no test cases found", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			w := newWorld(t)
			for i, s := range readSteps(t, file) {
				w.step(fmt.Sprintf("step %d %s%s %s", i+1, s.Call, s.Path, s.About), s)
			}
		})
	}
}

func readSteps(t testing.TB, file string) []step {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	if err := yaml.UnmarshalStrict(raw, &steps); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return steps
}

func (w *world) step(name string, s step) {
	w.t.Helper()
	for call, why := range s.Fails {
		w.kernel.fails[call] = errors.New(why)
	}
	switch {
	case s.Reboot:
		w.shut()
		w.kernel = newKernel()
		w.open()
	case s.Restart:
		w.shut()
		w.open()
	case s.Advance != "":
		span, err := time.ParseDuration(s.Advance)
		if err != nil {
			w.t.Fatal(err)
		}
		w.clock.Step(span)
		if _, err := w.ledger.Expire(context.Background(), w.clock.Now()); err != nil {
			w.t.Fatal(err)
		}
	case s.Call != "" || s.Path != "":
		w.request(name, s)
	}
	if s.Held != nil {
		if diff := cmp.Diff(*s.Held, w.held()); diff != "" {
			w.t.Errorf("%s: what is held (-want +got):\n%s", name, diff)
		}
	}
	if s.Links != nil {
		if diff := cmp.Diff(*s.Links, w.kernel.links()); diff != "" {
			w.t.Errorf("%s: the links (-want +got):\n%s", name, diff)
		}
	}
}

func (w *world) request(name string, s step) {
	w.t.Helper()
	body := string(s.Body)
	if s.Raw != nil {
		body = *s.Raw
	}
	if s.Status == 0 {
		s.Status = http.StatusOK
	}
	if s.Method == "" {
		s.Method = http.MethodPost
	}
	if s.Call != "" {
		s.Path = "/" + s.Call
	}
	if s.Answer == nil {
		s.Answer = map[string]any{}
	}
	status, answer, header := w.send(s.Method, s.Path, body)
	if status != s.Status || header.Get("Content-Type") != mediaType {
		w.t.Errorf("%s: got %d %s %s, want %d", name, status, header.Get("Content-Type"), answer, s.Status)
	}
	var got any
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		w.t.Errorf("%s: %q: %v", name, answer, err)
	}
	if diff := env.DiffWildcard(s.Answer, got); diff != "" {
		w.t.Errorf("%s: the answer (-want +got):\n%s", name, diff)
	}
}
