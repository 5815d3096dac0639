// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

// testShutdown ends the program while a review is half sent: it is answered, and the program ends with 0.
func testShutdown(t *testing.T) {
	p := start(t, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Config:   "shutdown: {delay: 300ms, timeout: 20s}\n",
	})
	namespace := newNamespace(t, "shutdown", nil)
	half := make(chan struct{})
	register(t, "slow", namespace, p.slowProxy(t, "/webhooks/controlplane/acme", func() {
		if err := p.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		p.log.waitFor(t, "shutting down server")
		if status, body, _ := get("http://" + p.Health + "/readyz"); status == http.StatusOK {
			t.Errorf("the program is ready while it shuts down: %s", body)
		}
		close(half)
	}), nil)
	object := create(t, deployment(namespace, "kube-controller-manager"))
	<-half
	expectFlags(t, object, map[string]bool{"--value=x": true})
	if status := p.wait(); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	if !strings.Contains(p.log.String(), `"msg":"Stopped"`) {
		t.Error("the log does not say that the program stopped")
	}
}

// slowProxy sends half of a review to the program, calls between, and sends the rest.
func (p *program) slowProxy(t *testing.T, path string, between func()) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	to := p.client(t)
	config := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		reader, writer := io.Pipe()
		go func() {
			_, _ = writer.Write(body[:len(body)/2])
			between()
			_, _ = writer.Write(body[len(body)/2:])
			_ = writer.Close()
		}()
		response, err := to.Post("https://"+p.Webhook+r.URL.RequestURI(), "application/json", reader)
		if err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	config.URL = ptr.To(*config.URL + segmented(t, path))
	return config
}
