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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// server returns the process of the landscape that runs a program. It has the landscape's folder in its arguments.
func server(name string) (pid int, arguments []string) {
	GinkgoHelper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited
		}
		arguments = strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
		if filepath.Base(arguments[0]) == name && strings.Contains(string(raw), land.Folder()) {
			pid, err = strconv.Atoi(filepath.Base(filepath.Dir(path)))
			Expect(err).NotTo(HaveOccurred())
			return pid, arguments
		}
	}
	Fail("no process of the landscape runs " + name)
	return 0, nil
}

// acquaint lets each replica admit an object of each client. A replica reads the Cluster of a shoot at its first
// admission, which fails while kube-apiserver cannot read.
func (s snapshot) acquaint() {
	GinkgoHelper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: callTimeout}
	path := *s.registration().Webhooks[0].ClientConfig.Service.Path
	for _, r := range s.all() {
		for i := range clients {
			object := manager(fmt.Sprint("shoot--sample--load-", i), 0)
			request := map[string]any{
				"uid": "acquaint", "kind": map[string]any{"group": "apps", "version": "v1", "kind": "Deployment"},
				"resource":  map[string]any{"group": "apps", "version": "v1", "resource": "deployments"},
				"operation": "CREATE",
				"namespace": object.GetNamespace(), "name": object.GetName(), "object": object.Object,
			}
			body, err := json.Marshal(map[string]any{
				"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
			})
			Expect(err).NotTo(HaveOccurred())
			answer, err := caller.Post("https://"+r.Webhook+path, "application/json", bytes.NewReader(body))
			Expect(err).NotTo(HaveOccurred(), "calling a replica")
			var given struct{ Response struct{ Allowed bool } }
			err = errors.Join(json.NewDecoder(answer.Body).Decode(&given), answer.Body.Close())
			Expect(err).NotTo(HaveOccurred(), "reading the answer of a replica")
			Expect(given.Response.Allowed).To(BeTrue(), "the admission of an object in %s", object.GetNamespace())
		}
	}
}

// send sends a signal to a process of the landscape.
func send(pid int, signal syscall.Signal) {
	GinkgoHelper()
	Expect(syscall.Kill(pid, signal)).To(Succeed(), "sending %s to process %d", signal, pid)
}

// restartServer kills kube-apiserver, which would wait a minute for its watchers, and starts it again at its old
// address. It returns a function that kills it.
func restartServer() (end func()) {
	GinkgoHelper()
	pid, arguments := server("kube-apiserver")
	send(pid, syscall.SIGKILL)
	Eventually(func() error { return syscall.Kill(pid, 0) }).Should(MatchError(syscall.ESRCH), "kube-apiserver exits")
	command := exec.Command(arguments[0], arguments[1:]...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	Expect(command.Start()).To(Succeed(), "starting kube-apiserver")
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = command.Wait()
	}()
	return func() {
		_ = command.Process.Kill()
		<-exited
	}
}
