// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package libnetwork

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// patience bounds every wait.
const patience = time.Minute

// configuration is that of a server: $F is its folder, $L its listeners.
const configuration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
node: worker-1
profiles: {paths: [$F/profile.yaml]}
ledger: {path: $F/ledger}
listeners: $L
administration: {address: "unix://$F/admin.sock"}
metrics: {address: "0"}
logging: {level: info, format: text}
`

// configured is the configuration of a server in a folder, with listeners.
func configured(folder, listeners string) string {
	return strings.ReplaceAll(strings.ReplaceAll(configuration, "$L", listeners), "$F", folder)
}

// server is one graft-network-provider, which Docker knows as a driver.
type server struct {
	t       *testing.T
	driver  string
	folder  string
	space   string // the file of its network namespace; empty: this one
	log     *log
	process *exec.Cmd
	ended   chan struct{}
}

// serve starts a server with a document, and more lines of its configuration.
func serve(t *testing.T, driver, space, document, more string) *server {
	t.Helper()
	folder, err := os.MkdirTemp("/run", "g")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, driver: driver, folder: folder, space: space, log: &log{}}
	s.write("profile.yaml", document)
	s.write("config.yaml", configured(folder, `[{address: "unix:///run/docker/plugins/`+driver+`.sock", contracts: [docker]}]`)+more)
	if err := os.MkdirAll("/run/docker/plugins", 0o755); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() {
		s.stop()
		for _, never := range []string{"panic", "goroutine ", "DATA RACE", "is it the right ledger"} {
			if strings.Contains(s.log.String(), never) {
				t.Errorf("the log contains %q", never)
			}
		}
		if t.Failed() {
			t.Logf("the server said\n%s", s.log)
		}
	})
	return s
}

// write writes a file into the folder.
func (s *server) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// socket is where Docker finds the driver.
func (s *server) socket() string { return "/run/docker/plugins/" + s.driver + ".sock" }

// start starts the program, and waits until it answers.
func (s *server) start() {
	s.t.Helper()
	s.launch()
	s.ready()
}

// launch starts the program.
func (s *server) launch() {
	s.t.Helper()
	s.process = exec.CommandContext(context.WithoutCancel(s.t.Context()), provider, "--config", filepath.Join(s.folder, "config.yaml"))
	s.process.Stdout, s.process.Stderr = s.log, s.log
	ended := make(chan struct{})
	if err := namespace.Start(s.space, s.process, func() { close(ended) }); err != nil {
		s.t.Fatal(err)
	}
	s.ended = ended
}

// ready waits until the program answers.
func (s *server) ready() {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if status, _ := s.post("NetworkDriver.GetCapabilities", ""); status == http.StatusOK {
			return
		}
		select {
		case <-s.ended:
			s.t.Fatalf("the server exited unexpectedly; its output:\n%s", s.log)
		default:
		}
	}
	s.t.Fatalf("the server does not answer; its output:\n%s", s.log)
}

// post makes a call as the client does; status 0: there was no answer.
func (s *server) post(method, body string) (status int, answer string) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.socket())
		},
	}}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://plugin.moby.localhost/"+method, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(raw)
}

// signal sends a signal to the program.
func (s *server) signal(number syscall.Signal) {
	if err := s.process.Process.Signal(number); err != nil {
		s.t.Error(err)
	}
}

// kill ends the program at once, and waits until it is gone.
func (s *server) kill() {
	s.signal(syscall.SIGKILL)
	<-s.ended
}

// stop asks the program to end; it must do so without a fault.
func (s *server) stop() {
	s.t.Helper()
	select {
	case <-s.ended:
		return
	default:
	}
	s.signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.signal(syscall.SIGQUIT)
		<-s.ended
		s.t.Errorf("the server does not exit; its output:\n%s", s.log)
	}
	if status := s.process.ProcessState.ExitCode(); status != 0 {
		s.t.Errorf("the server exited with %d; its output:\n%s", status, s.log)
	}
}

// ledger runs graft ledger with the server, and returns its output.
func (s *server) ledger(arguments ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), graft, append(append([]string{"ledger"}, arguments...), "--server=unix://"+filepath.Join(s.folder, "admin.sock"))...)
	said, err := command.CombinedOutput()
	if err != nil {
		s.t.Errorf("graft ledger %s: %v: %s", strings.Join(arguments, " "), err, said)
	}
	return strings.TrimSpace(string(said))
}

// log is the output of a program.
type log struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

// String is all of it.
func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}
