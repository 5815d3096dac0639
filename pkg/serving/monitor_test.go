// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
)

func TestMonitor(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "graft_some", Help: "Some."}))
	var problem error
	m := &Monitor{Metrics: registry, Ready: map[string]func(context.Context) error{
		"ledger":   func(context.Context) error { return problem },
		"profiles": func(context.Context) error { return nil },
	}}
	ask := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		m.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return recorder.Code, recorder.Body.String()
	}
	for _, test := range []struct {
		path    string
		problem error
		code    int
		text    string
	}{
		{"/healthz", errors.New("gone"), 200, "ok\n"},
		{"/readyz", nil, 200, "ok\n"},
		{"/readyz", errors.New("gone"), 503, "ledger: gone\n"},
		{"/metrics", nil, 200, "graft_some 0"},
		{"/debug/pprof/", nil, 404, "404"},
	} {
		problem = test.problem
		if code, text := ask(test.path); code != test.code || !strings.Contains(text, test.text) {
			t.Errorf("%s: %d, %s", test.path, code, text)
		}
	}
	m.Profiling = true
	if code, _ := ask("/debug/pprof/"); code != 200 {
		t.Errorf("profiles: %d", code)
	}
}

func TestMonitorOpens(t *testing.T) {
	var said []string
	log := funcr.New(func(_, what string) { said = append(said, what) }, funcr.Options{})
	if stop, err := (&Monitor{Address: "0"}).Open(t.Context(), log); err != nil || len(said) > 0 {
		t.Errorf("with the address 0: want no server and no log, got %v, %q", err, said)
	} else {
		stop()
	}
	m := &Monitor{Program: "graft-some", Address: "127.0.0.1:0", Metrics: prometheus.NewRegistry()}
	stop, err := m.Open(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(strings.Join(said, "\n"))
	second := &Monitor{Program: "graft-some", Address: address, Metrics: m.Metrics}
	if _, err := second.Open(t.Context(), log); err == nil || !strings.Contains(err.Error(), "is another graft-some running?") {
		t.Errorf("the address is in use: %v", err)
	}
	ask := func() bool {
		response, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	if !ask() {
		t.Error("the monitoring server does not answer")
	}
	if stop(); ask() {
		t.Error("the stopped monitoring server still answers")
	}
}
