// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLog checks the collected output with and without a limit.
func TestLog(t *testing.T) {
	unlimited, limited := &Log{}, &Log{Limit: 4}
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		_, _ = io.WriteString(io.MultiWriter(unlimited, limited), line)
	}
	if text := unlimited.String(); text != "one\ntwo\nthree\n" || unlimited.Tail(2) != "two\nthree" ||
		unlimited.Tail(9) != "one\ntwo\nthree" {
		t.Errorf("without a limit: %q, tail %q", text, unlimited.Tail(2))
	}
	if limited.String() != "three\n" {
		t.Errorf("with a limit of 4 bytes: %q, want the last line", limited)
	}
}

// TestProcess checks Await, Stop and Kill, and the environment of a program.
func TestProcess(t *testing.T) {
	t.Setenv("ONE", "1")
	const loop = `trap 'exit 7' TERM; echo "$ONE$TWO$0"; while :; do read -r line; done`
	start := func() *Process {
		t.Helper()
		p, err := Start(&Log{}, []string{"TWO=2"}, "sh", "-c", loop, "3")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Await(t.Context(), func(context.Context) error {
			if p.Log.String() != "123\n" {
				return errors.New("no output yet")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if p.HasExited() {
			t.Error("HasExited = true for a running program")
		}
		return p
	}
	p := start()
	if err := p.Stop(); err != nil || p.State().ExitCode() != 7 || !p.HasExited() {
		t.Errorf("after Stop: %s, %v; want status 7", p.State(), err)
	}
	p = start()
	p.Kill()
	if <-p.Exited(); p.State().Exited() {
		t.Errorf("after Kill: %s; want a signal", p.State())
	}
	if err := p.Await(t.Context(), func(context.Context) error { return errors.New("no") }); err == nil ||
		!strings.Contains(err.Error(), "killed; its output:\n123\n") {
		t.Errorf("Await on a killed program: %v", err)
	}
	if _, err := Start(&Log{}, nil, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("starting a missing program succeeded; want an error")
	}
}

// TestProgram checks the program that the suites start.
func TestProgram(t *testing.T) {
	built := time.Now()
	tests := []struct {
		name   string
		source time.Duration // when the source changed, relative to the build; 0 if there is no program
		want   string
	}{
		{"asks for make build without a program", 0, "make build"},
		{"asks for make build after a source changed", time.Minute, "main.go; run `make build`"},
		{"returns the path of a current program", -time.Minute, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write := func(path string, modified time.Time) {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, modified, modified); err != nil {
					t.Fatal(err)
				}
			}
			write("cmd/graft/main.go", built.Add(tt.source))
			write("cmd/graft/main_test.go", built.Add(time.Hour))
			write("pkg/doc.go", built.Add(-time.Hour))
			if tt.source != 0 {
				write("bin/graft", built)
			}
			path, err := Program(root, "graft")
			switch {
			case tt.want == "" && (err != nil || path != filepath.Join(root, "bin", "graft")):
				t.Errorf("Program() = %q, %v; want bin/graft", path, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Program() = %q, %v; want an error with %q", path, err, tt.want)
			}
		})
	}
}

// TestInProcess checks a program that runs inside the test process.
func TestInProcess(t *testing.T) {
	main := Main(func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
		fmt.Fprintln(stdout, version, strings.Join(arguments, " "))
		if slices.Contains(arguments, "--listen") {
			fmt.Fprintln(stderr, "Listening")
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond) // shutdown takes some time
			fmt.Fprintln(stderr, "Ended")
			return 0
		}
		fmt.Fprintln(stderr, "Error: no listener")
		return 2
	})
	var left *InProcess
	if t.Run("stopped by cleanup",
		func(t *testing.T) { left = main.Start(t, "--listen") }); !strings.HasSuffix(left.Log.String(), "Ended\n") {
		t.Errorf("want the program stopped after its test, got the log %q", left.Log)
	}
	p := main.Start(t, "--listen")
	p.Stop(t)
	if p.Log.String() != "Listening\nEnded\n" {
		t.Errorf("log = %q, want both lines", p.Log)
	}
	if status, said := main.Try(t, "/a", "/a/b"); status != 2 || said != "test b\nError: no listener\n" {
		t.Errorf("Try = %d, %q; want status 2 and the output without the folder", status, said)
	}
}

// TestFreeAddresses checks that an address is free, that it is returned only once, and that an address in use is not
// returned.
func TestFreeAddresses(t *testing.T) {
	given := map[string]bool{}
	for range 3 {
		addresses, err := FreeAddresses(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range addresses {
			if given[address] || reserve(t.Context(), address) != nil {
				t.Errorf("%s was returned twice, or is not reserved", address)
			}
			given[address] = true
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = listener.Close()
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if reserve(t.Context(), listener.Addr().String()) != nil {
		t.Error("reserve returned an address that is in use")
	}
}

// TestExtension checks the addresses, the readiness check and the arguments of an extension.
func TestExtension(t *testing.T) {
	e, err := NewExtension(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all := []string{e.Webhook, e.Metrics, e.Health}; len(slices.Compact(slices.Sorted(slices.Values(all)))) != 3 {
		t.Errorf("addresses = %q, want three different ones", all)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != "/readyz?verbose" {
			http.NotFound(w, r)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	defer server.Close()
	e = Extension{"127.0.0.1:1", "m", strings.TrimPrefix(server.URL, "http://")}
	if err := e.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if text, err := Get(t.Context(), server.URL+"/other"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("Get of a missing page = %q, %v; want an error with 404", text, err)
	}
	got := strings.Join(append(e.Arguments("c", "k", "p", "q"), e.ByURL("n")...), " ")
	want := "--config=c --kubeconfig=k --webhook-config-server-host=127.0.0.1 --webhook-config-server-port=1 " +
		"--metrics-bind-address=m " +
		"--health-bind-address=" + e.Health +
		" --profile=p --profile=q --webhook-config-mode=url --webhook-config-url=127.0.0.1:1 --webhook-config-namespace=n"
	if got != want {
		t.Errorf("arguments:\n%s\nwant:\n%s", got, want)
	}
}
