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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/namespace"
)

// serverConfiguration has the placeholders $F for the folder of the server and $L for its listeners.
const serverConfiguration = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
node: worker-1
profiles: {paths: [$F/profile.yaml]}
ledger: {path: $F/ledger}
listeners: $L
administration: {address: "unix://$F/admin.sock"}
metrics: {address: "0"}
logging: {level: info, format: text}
`

// configurationOf returns the configuration of a server in a folder with listeners.
func configurationOf(folder, listeners string) string {
	return strings.ReplaceAll(strings.ReplaceAll(serverConfiguration, "$L", listeners), "$F", folder)
}

// server is a process of graft-network-provider, which Docker knows as a driver.
type server struct {
	driver  string
	folder  string
	space   string // the file of its network namespace; empty for this one
	log     *log
	process *exec.Cmd
	ended   chan struct{}
}

// serve starts a server with a profile and additional lines of configuration. The server stops at the end of the spec.
func serve(driver, space, profile, configuration string) *server {
	GinkgoHelper()
	folder, err := os.MkdirTemp("/run", "g")
	Expect(err).NotTo(HaveOccurred())
	s := &server{driver: driver, folder: folder, space: space, log: &log{}}
	s.write("profile.yaml", profile)
	s.write("config.yaml",
		configurationOf(folder,
			`[{address: "unix:///run/docker/plugins/`+driver+`.sock", contracts: [docker]}]`)+configuration)
	Expect(os.MkdirAll("/run/docker/plugins", 0o755)).To(Succeed())
	s.start()
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			AddReportEntry("the log of the server", s.log.String())
		}
		s.stop()
		for _, unwanted := range []string{"panic", "goroutine ", "DATA RACE", "is it the right ledger"} {
			Expect(s.log.String()).NotTo(ContainSubstring(unwanted), "the log of the server")
		}
	})
	return s
}

// write writes a file into the folder.
func (s *server) write(name, text string) {
	GinkgoHelper()
	Expect(os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600)).To(Succeed())
}

// socket returns the path at which Docker finds the driver.
func (s *server) socket() string { return "/run/docker/plugins/" + s.driver + ".sock" }

// start starts the program and waits until it answers.
func (s *server) start() {
	GinkgoHelper()
	s.launch()
	Eventually(func() int {
		select {
		case <-s.ended:
			StopTrying("the server has exited; its log:\n" + s.log.String()).Now()
		default:
		}
		return s.capabilities()
	}).Should(Equal(http.StatusOK), "the status of the server's answer")
}

// launch starts the program.
func (s *server) launch() {
	GinkgoHelper()
	s.process = exec.Command(provider, "--config",
		filepath.Join(s.folder, "config.yaml"))
	s.process.Stdout, s.process.Stderr = s.log, s.log
	ended := make(chan struct{})
	Expect(namespace.Start(s.space, s.process, func() { close(ended) })).To(Succeed())
	s.ended = ended
}

// capabilities sends a request as the controller does. It returns the status, or 0 without an answer.
func (s *server) capabilities() int {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.socket())
		},
	}}
	response, err := client.Post("http://plugin.moby.localhost/NetworkDriver.GetCapabilities", "", nil)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}

// signal sends a signal to the program.
func (s *server) signal(number syscall.Signal) {
	GinkgoHelper()
	Expect(s.process.Process.Signal(number)).To(Succeed())
}

// kill kills the program and waits until it has ended.
func (s *server) kill() {
	GinkgoHelper()
	s.signal(syscall.SIGKILL)
	<-s.ended
}

// stop terminates the program if it runs. It expects the exit status 0.
func (s *server) stop() {
	GinkgoHelper()
	select {
	case <-s.ended:
		return
	default:
	}
	s.signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.signal(syscall.SIGQUIT) // it logs its goroutines
		<-s.ended
		Fail("the server does not exit after SIGTERM; its log:\n" + s.log.String())
	}
	Expect(s.process.ProcessState.ExitCode()).To(BeZero(), "the exit status of the server; its log:\n%s", s.log)
}

// ledger runs `graft ledger` with the server and returns its output.
func (s *server) ledger(arguments ...string) string {
	GinkgoHelper()
	arguments = append(append([]string{"ledger"}, arguments...), "--server=unix://"+filepath.Join(s.folder, "admin.sock"))
	output, err := exec.Command(graft, arguments...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "graft %s: %s", strings.Join(arguments, " "), output)
	return strings.TrimSpace(string(output))
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

// String returns the whole output.
func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}
