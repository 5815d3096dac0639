// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// server finds a process of the landscape by its program and the landscape's folder in its arguments.
func server(t *testing.T, name string) (pid int, arguments []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended since
		}
		arguments = strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
		if filepath.Base(arguments[0]) == name && strings.Contains(string(raw), land.Folder()) {
			if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(path))); err != nil {
				t.Fatal(err)
			}
			return pid, arguments
		}
	}
	t.Fatalf("there is no %s", name)
	return 0, nil
}

// acquaint has each replica admit an object of each client: it gets a Cluster when it is asked about its shoot first, which it cannot while the kube-apiserver
// cannot read.
func (s scene) acquaint() {
	s.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: callTimeout}
	path := *s.registration().Webhooks[0].ClientConfig.Service.Path
	for _, r := range s.all() {
		for i := range clients {
			object := manager(fmt.Sprint("shoot--sample--load-", i), 0)
			review := map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
				"uid": "acquaint", "kind": map[string]any{"group": "apps", "version": "v1", "kind": "Deployment"},
				"resource": map[string]any{"group": "apps", "version": "v1", "resource": "deployments"}, "operation": "CREATE",
				"namespace": object.GetNamespace(), "name": object.GetName(), "object": object.Object,
			}}
			body, err := json.Marshal(review)
			if err != nil {
				s.t.Fatal(err)
			}
			answer, err := caller.Post("https://"+r.Webhook+path, "application/json", bytes.NewReader(body))
			if err != nil {
				s.t.Fatal(err)
			}
			var given struct{ Response struct{ Allowed bool } }
			err = errors.Join(json.NewDecoder(answer.Body).Decode(&given), answer.Body.Close())
			if err != nil || !given.Response.Allowed {
				s.t.Fatalf("a replica does not admit an object in %s: %v", object.GetNamespace(), err)
			}
		}
	}
}

// send sends a signal to a process of the landscape.
func send(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// restartServer kills the kube-apiserver, which would wait a minute for those who watch it, and starts it again where it was.
func restartServer(t *testing.T) {
	t.Helper()
	pid, arguments := server(t, "kube-apiserver")
	send(t, pid, syscall.SIGKILL)
	eventually(t, "the kube-apiserver ends", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	command := exec.Command(arguments[0], arguments[1:]...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
}
