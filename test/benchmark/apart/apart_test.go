// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package apart

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// mute has the servers end without a word.
const mute = "-mute"

// TestMain runs the test binary as a server when a test starts it.
func TestMain(m *testing.M) {
	switch {
	case slices.Contains(os.Args, mute):
		os.Exit(1)
	case slices.Contains(os.Args[1:], "-serve"):
		if err := serve(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

func serve(ctx context.Context) error {
	certificate, err := NewCertificate()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	AddUsage(mux)
	mux.HandleFunc("/floor", Floor(`{"uid":%q}`, UID))
	mux.HandleFunc("/agent", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.UserAgent(), " ", r.Proto, " ", r.URL.RawQuery)
	})
	return Serve(ctx, os.Stdin, os.Stdout, &http.Server{
		Handler: mux, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13,
			Certificates: []tls.Certificate{certificate}},
	}, nil, "other:1")
}

// TestServers checks that servers are started, called, counted and stopped.
func TestServers(t *testing.T) {
	s, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.URLs) != 2 || s.URLs[1] != "https://other:1" {
		t.Errorf("the servers are at %q", s.URLs)
	}
	before, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		answer, err := s.Post(t.Context(), s.URLs[0]+"/floor", []byte(`{"request":{"uid":"a"}}`))
		if err != nil || string(answer) != `{"uid":"a"}` {
			t.Fatalf("the answer is %s, %v", answer, err)
		}
	}
	after, err := s.Usage(t.Context())
	if err != nil || after.CPU <= before.CPU || after.Mallocs <= before.Mallocs+100 || after.Bytes <= before.Bytes+100 {
		t.Errorf("used are %+v, then %+v, %v", before, after, err)
	}
	s.Agent = "somebody"
	if answer, err := s.Post(t.Context(), s.URLs[0]+"/agent", nil); err != nil ||
		string(answer) != "somebody HTTP/1.1 timeout=10s" {
		t.Errorf("the call is %s, %v", answer, err)
	}
	if _, err := s.Post(t.Context(), s.URLs[0]+"/floor", []byte("{")); err == nil ||
		!strings.Contains(err.Error(), "400 Bad Request") {
		t.Errorf("no JSON is answered with %v", err)
	}
	s.Stop()
	if !s.command.ProcessState.Success() {
		t.Errorf("the servers ended with %s", s.command.ProcessState)
	}
}

// TestServersWithoutAnswer checks the errors of servers that do not answer.
func TestServersWithoutAnswer(t *testing.T) {
	if _, err := Start(t.Context(), mute); err == nil || !strings.Contains(err.Error(), "do not serve") {
		t.Errorf("the error is %v", err)
	}
}
