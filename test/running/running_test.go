// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package running

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLog holds what is kept of what programs say.
func TestLog(t *testing.T) {
	all, late := &Log{}, &Log{Most: 4}
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		_, _ = io.WriteString(io.MultiWriter(all, late), line)
	}
	if all.String() != "one\ntwo\nthree\n" || all.Tail(2) != "two\nthree" || all.Tail(9) != "one\ntwo\nthree" {
		t.Errorf("all of it is %q, and its end %q", all, all.Tail(2))
	}
	if late.String() != "three\n" {
		t.Errorf("lately it said %q", late)
	}
}

// TestProcess holds how a program is awaited and ended, and that the environment is that of the tests and more.
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
				return errors.New("it says nothing")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if p.Ended() {
			t.Error("it has ended")
		}
		return p
	}
	p := start()
	if err := p.Stop(); err != nil || p.State().ExitCode() != 7 || !p.Ended() {
		t.Errorf("asked, it ended with %s, %v", p.State(), err)
	}
	p = start()
	p.Kill()
	if <-p.Exited(); p.State().Exited() {
		t.Errorf("killed, it ended with %s", p.State())
	}
	if err := p.Await(t.Context(), func(context.Context) error { return errors.New("no") }); err == nil || !strings.Contains(err.Error(), "killed; it said\n123\n") {
		t.Errorf("it is awaited with %v", err)
	}
	if _, err := Start(&Log{}, nil, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("what is not there was started")
	}
	if err := Built(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("what is not there has been built: %v", err)
	}
}

// TestInside holds how a program inside the test is run.
func TestInside(t *testing.T) {
	main := Main(func(ctx context.Context, version string, arguments []string, stdout, stderr io.Writer) int {
		fmt.Fprintln(stdout, version, strings.Join(arguments, " "))
		if slices.Contains(arguments, "--listen") {
			fmt.Fprintln(stderr, "Listening")
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond) // as programs do that put things in order
			fmt.Fprintln(stderr, "Ended")
			return 0
		}
		fmt.Fprintln(stderr, "Error: no listener")
		return 2
	})
	var left *Inside
	if t.Run("left to its test", func(t *testing.T) { left = main.Start(t, "--listen") }); !strings.HasSuffix(left.Log.String(), "Ended\n") {
		t.Errorf("it goes on beside the next test: %q", left.Log)
	}
	p := main.Start(t, "--listen")
	p.Stop(t)
	if p.Log.String() != "Listening\nEnded\n" {
		t.Errorf("it said %q", p.Log)
	}
	if status, said := main.Try(t, "/a", "/a/b"); status != 2 || said != "test b\nError: no listener\n" {
		t.Errorf("it ended with %d: %s", status, said)
	}
}

// TestFreeAddresses holds that one can listen where nobody does, that what was given is given to nobody else, here or in another process, and what is
// in use to nobody.
func TestFreeAddresses(t *testing.T) {
	given := map[string]bool{}
	for range 3 {
		addresses, err := FreeAddresses(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range addresses {
			if given[address] || mark(t.Context(), address) != nil {
				t.Errorf("%s is given twice", address)
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
	if mark(t.Context(), listener.Addr().String()) != nil {
		t.Error("what is in use is given")
	}
}

// TestExtension holds that addresses are not the same, and by which arguments the program has them.
func TestExtension(t *testing.T) {
	e, err := NewExtension(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all := []string{e.Webhook, e.Metrics, e.Health}; len(slices.Compact(slices.Sorted(slices.Values(all)))) != 3 {
		t.Errorf("the addresses are %q", all)
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
		t.Errorf("another page is %q, %v", text, err)
	}
	got := strings.Join(append(e.Arguments("c", "k", "p", "q"), e.ByURL("n")...), " ")
	want := "--config=c --kubeconfig=k --webhook-config-server-host=127.0.0.1 --webhook-config-server-port=1 --metrics-bind-address=m " +
		"--health-bind-address=" + e.Health + " --profile=p --profile=q --webhook-config-mode=url --webhook-config-url=127.0.0.1:1 --webhook-config-namespace=n"
	if got != want {
		t.Errorf("the arguments are\n%s, not\n%s", got, want)
	}
}
