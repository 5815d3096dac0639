// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// service is the host name for a configuration with a Service.
const (
	serviceName      = "interpreter"
	serviceNamespace = "graft"
)

// transport calls webhooks like Karmada: with the clients of k8s.io/apiserver, and our own types of the messages.
type transport struct {
	manager webhookutil.ClientManager
	url     string
	bundle  []byte
}

// newTransport serves a handler over TLS.
func newTransport(t *testing.T, h http.Handler) *transport {
	t.Helper()
	trusted := env.NewAuthority(t)
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{trusted.Pair("server", serviceName+"."+serviceNamespace+".svc")}, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	manager, err := dispatch.Clients(resolved(server.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	return &transport{manager: manager, url: server.URL + "/interpret", bundle: trusted.PEM}
}

// resolved is where the service is.
type resolved string

// ResolveEndpoint implements webhookutil.ServiceResolver.
func (r resolved) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if namespace != serviceNamespace || name != serviceName || port != 443 {
		return nil, errors.New("another service was asked for")
	}
	return &url.URL{Scheme: "https", Host: string(r)}, nil
}

// client is the client of a configuration with the URL, or with the service.
func (p *transport) client(t *testing.T, service bool) *rest.RESTClient {
	t.Helper()
	config := webhookutil.ClientConfig{Name: "graft.example.com", CABundle: p.bundle, URL: p.url}
	if service {
		config.URL = ""
		config.Service = &webhookutil.ClientConfigService{Name: serviceName, Namespace: serviceNamespace, Path: "/interpret", Port: 443}
	}
	client, err := p.manager.HookClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ask sends a message as Karmada does, and decodes the answer into another.
func ask(client *rest.RESTClient, timeout time.Duration, question, answer runtime.Object) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return client.Post().Body(question).Timeout(timeout).Do(ctx).Into(answer)
}

// TestTransport sends each case that a client of the types can send over its transport, and applies its rules to the answer.
func TestTransport(t *testing.T) {
	asks := &scripted{}
	protocols := map[string]int{}
	p := newTransport(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols[r.Proto]++
		api.New(api.Options{Interpreter: asks, Log: logr.Discard()}).ServeHTTP(w, r)
	}))
	sent := 0
	for _, service := range []bool{false, true} {
		client := p.client(t, service)
		for name := range files {
			for _, c := range messages(t, name) {
				question, answer := typed(c)
				if question == nil {
					continue
				}
				if name == "mistakes" {
					c.Message = "*" // the client sends null as an empty value, which is another mistake
				}
				sent++
				asks.given = c.Given
				err := ask(client, 10*time.Second, question, answer)
				accepted(t, name+"/"+c.About, c, answer, err)
			}
		}
	}
	if sent < 100 || protocols["HTTP/1.1"] != sent/2 || protocols["HTTP/2.0"] != sent/2 {
		t.Errorf("sent %d by %v", sent, protocols)
	}
}

// typed is a case as a client has it, and where the answer goes; nil: no client can send it.
func typed(c messageCase) (question, answer runtime.Object) {
	raw, _ := json.Marshal(c.Body)
	question, answer = &dispatch.ContextMessage{}, &dispatch.ContextMessage{}
	if c.Body["kind"] == api.KindReview {
		question, answer = &dispatch.ReviewMessage{}, &dispatch.ReviewMessage{}
	}
	if strictly(raw, question) != nil {
		return nil, nil
	}
	return question, answer
}

// accepted checks that the client understands an answer.
func accepted(t *testing.T, about string, c messageCase, answer runtime.Object, err error) {
	t.Helper()
	uid, operation := c.request()["uid"].(string), c.request()["operation"].(string)
	switch m := answer.(type) {
	case *dispatch.ContextMessage:
		if err == nil {
			err = acceptContext(uid, operation, m.Response)
		}
		if err != nil {
			t.Errorf("%s: the client rejects the answer: %v", about, err)
			return
		}
		if c.Code != 0 && (m.Response.Successful || int(m.Response.Status.Code) != c.Code || !like(c.Message, m.Response.Status.Message)) {
			t.Errorf("%s: got %+v", about, m.Response)
		}
	case *dispatch.ReviewMessage:
		if c.Code != 0 {
			if err == nil || !like(c.Message, err.Error()) {
				t.Errorf("%s: got %v, want %s", about, err, c.Message)
			}
			return
		}
		if err == nil {
			err = dispatch.VerifyReview(uid, operation, m.Response)
		}
		if err != nil {
			t.Errorf("%s: the client rejects the answer: %v", about, err)
		}
	}
}

// TestTransportLimits sends large, too large and too slow requests.
func TestTransportLimits(t *testing.T) {
	hanging := make(chan struct{})
	asks := &scripted{}
	p := newTransport(t, api.New(api.Options{Interpreter: asks, Log: logr.Discard(), MaximumBytes: 4 << 20}))
	large := newTransport(t, api.New(api.Options{Interpreter: asks, Log: logr.Discard()}))
	slow := newTransport(t, api.New(api.Options{Interpreter: blocked(hanging), Log: logr.Discard()}))
	t.Cleanup(func() { close(hanging) })
	yes := true
	asks.given.Healthy = &yes
	for _, service := range []bool{false, true} {
		if code := p.health(t, service, 5<<20, 30*time.Second); code != http.StatusRequestEntityTooLarge {
			t.Errorf("it is too large: got %d", code)
		}
		if code := large.health(t, service, 5<<20, 30*time.Second); code != http.StatusOK {
			t.Errorf("it is large: got %d", code)
		}
		if code := slow.health(t, service, 1, 3*time.Second); code != http.StatusGatewayTimeout {
			t.Errorf("it hangs: got %d", code)
		}
	}
}

// blocked is an interpreter that comes back when the channel is closed.
func blocked(until chan struct{}) working {
	return func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		<-until
		return interpreter.Response{}, ctx.Err()
	}
}

// health returns the code of the answer about an object with a text of this length.
func (p *transport) health(t *testing.T, service bool, length int, timeout time.Duration) int32 {
	t.Helper()
	var q, a dispatch.ContextMessage
	if err := json.Unmarshal(question(1), &q); err != nil {
		t.Fatal(err)
	}
	q.Request.Object.Raw = []byte(`{"spec":{"text":"` + strings.Repeat("x", length) + `"}}`)
	err := ask(p.client(t, service), timeout, &q, &a)
	if err == nil {
		err = acceptContext(uid, "InterpretHealth", a.Response)
	}
	if err != nil {
		t.Errorf("%d bytes: %v", length, err)
		return 0
	}
	if a.Response.Successful {
		return http.StatusOK
	}
	return a.Response.Status.Code
}

// TestTransportUnknown checks that a request that a dialect cannot answer gets an error with a reason.
func TestTransportUnknown(t *testing.T) {
	p := newTransport(t, api.New(api.Options{Interpreter: &scripted{}, Log: logr.Discard()}))
	err := ask(p.client(t, true), time.Second, &dispatch.ContextMessage{}, &dispatch.ContextMessage{})
	if diff := gocmp.Diff("request must be an object", err.Error()); diff != "" {
		t.Error(diff)
	}
}
