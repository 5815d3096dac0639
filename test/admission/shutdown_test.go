// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"io"
	"net/http"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

// testShutdown ends the program while a review is half sent: it is answered, and the program ends with 0.
func testShutdown(ctx context.Context) {
	p := start(ctx, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "x")},
		Config:   "shutdown: {delay: 300ms, timeout: 20s}\n",
	})
	namespace := newNamespace(ctx, "shutdown", nil)
	half := make(chan struct{})
	register(ctx, "slow", namespace, p.slowProxy(ctx, "/webhooks/controlplane/acme", func() {
		defer close(half)
		Expect(p.Signal(syscall.SIGTERM)).To(Succeed())
		p.log.waitFor("shutting down server")
		status, body, _ := get("http://" + p.Health + "/readyz")
		Expect(status).NotTo(Equal(http.StatusOK), "status of /readyz while the program shuts down: %s", body)
	}), nil)
	object := create(ctx, deployment(namespace, "kube-controller-manager"))
	<-half
	expectFlags(object, map[string]bool{"--value=x": true})
	Expect(p.wait()).To(BeNumerically("==", 0), "exit status of the program")
	Expect(p.log.String()).To(ContainSubstring(`"msg":"Stopped"`), "the log of the program")
}

// slowProxy sends half of a review to the program, calls between, and sends the rest.
func (p *program) slowProxy(ctx context.Context, path string,
	between func()) admissionregistrationv1.WebhookClientConfig {
	GinkgoHelper()
	to := p.client(ctx)
	config := serveTLS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer GinkgoRecover()
		body, err := io.ReadAll(r.Body)
		Expect(err).NotTo(HaveOccurred(), "reading the review")
		reader, writer := io.Pipe()
		go func() {
			defer func() { _ = writer.Close() }()
			defer GinkgoRecover()
			_, _ = writer.Write(body[:len(body)/2])
			between()
			_, _ = writer.Write(body[len(body)/2:])
		}()
		response, err := to.Post("https://"+p.Webhook+r.URL.RequestURI(), "application/json", reader)
		Expect(err).NotTo(HaveOccurred(), "forwarding the review")
		defer response.Body.Close()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	config.URL = ptr.To(*config.URL + segmented(ctx, path))
	return config
}
