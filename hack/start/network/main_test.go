// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
)

// TestCallers holds that curl and this program ask the same, and read the same.
func TestCallers(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body)+"\nline\n")
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	with := newCaller(socket)
	for name, c := range map[string]*caller{"curl, if it is there": with, "itself": {socket: socket}} {
		for body, want := range map[string]string{"": "GET /x \nline", "{}": "POST /x {}\nline"} {
			status, answer, err := c.ask(t.Context(), "/x", body)
			if err != nil || status != "409" || answer != want {
				t.Errorf("%s: %s %q, %v", name, status, answer, err)
			}
		}
	}
}

// TestChecks holds that answers which are not as they should be are found.
func TestChecks(t *testing.T) {
	k := &known{}
	const first = `{"interface":{"addresses":["10.0.0.1/24"]}}`
	if err := k.learn(first); err != nil || k.address != "10.0.0.1/24" || k.same(first) != nil {
		t.Errorf("learned %+v, %v", k, err)
	}
	for name, err := range map[string]error{
		"no JSON": k.learn("x"), "no address": k.learn(`{"interface":{}}`), "another answer": k.same("x"),
		"not there": has("a", "b")("a"), "still there": lacks("abc", "b"),
	} {
		if err == nil {
			t.Errorf("%s: nobody says so", name)
		}
	}
	if status := console.Run(t.Context(), "test", "", profile, []string{"-what"}, show); status != 2 {
		t.Errorf("a wrong flag: %d", status)
	}
}
