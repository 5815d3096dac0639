// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// host is the host of the Service, which the server's certificate has, too.
const host = "interpreter.graft.svc"

// serve serves over TLS and returns the endpoint.
func serve(t *testing.T, h http.Handler) configuration.Endpoint {
	t.Helper()
	trusted := env.NewAuthority(t)
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{trusted.Pair("server", host)}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return configuration.Endpoint{URL: server.URL + "/interpret", CABundle: trusted.PEM, TimeoutSeconds: 30}
}

// resolved is where the service is.
type resolved string

// ResolveEndpoint implements webhookutil.ServiceResolver.
func (r resolved) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if got := fmt.Sprintf("%s.%s.svc:%d", name, namespace, port); got != host+":443" {
		return nil, errors.New("asked for " + got)
	}
	return &url.URL{Scheme: "https", Host: string(r)}, nil
}

// echoed answers with the question.
type echoed struct{ asked interpreter.Request }

func (e *echoed) Interpret(_ context.Context, r interpreter.Request) (interpreter.Response, error) {
	e.asked = r
	if strings.Contains(string(r.Object), `"lame"`) {
		return interpreter.Response{}, &interpreter.Failure{Code: 422, Message: "spec.replicas is lame"}
	}
	return interpreter.Response{
		Patch: json.RawMessage(`[{"op":"add","path":"/spec/x","value":1}]`), Replicas: ptr.To[int32](3),
		Healthy: ptr.To(true),
		Status:  json.RawMessage(`{"ready":1}`), Components: []interpreter.Component{{Name: "a", Replicas: 2}},
		Requirements: &interpreter.Requirements{ResourceRequest: json.RawMessage(`{"cpu":"1"}`),
			NodeClaim: json.RawMessage(`{"nodeSelector":{"a":"b"}}`)},
		Dependencies: []interpreter.Dependency{{APIVersion: "v1", Kind: "Secret", Namespace: "n", Name: "s"}},
	}, nil
}

var object = json.RawMessage(`{"apiVersion":"acme.com/v1","kind":"Queue",` +
	`"metadata":{"name":"q","namespace":"n"},"spec":{"replicas":3}}`)

// TestWire sends each operation to the real codec in both dialects, by a URL and by a Service, and compares questions
// and answers.
func TestWire(t *testing.T) {
	answers := &echoed{}
	at := serve(t, api.New(api.Options{Interpreter: answers, Log: logr.Discard()}))
	parsed, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	byService := configuration.Endpoint{Service: &admissionv1.ServiceReference{Namespace: "graft", Name: "interpreter"},
		CABundle: at.CABundle}
	for _, dialect := range []string{api.KindContext, api.KindReview} {
		for about, e := range map[string]configuration.Endpoint{"url": at, "service": byService} {
			d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Any(dialect, e), Services: resolved(parsed.Host)})
			if err != nil {
				t.Fatal(err)
			}
			for name, o := range api.Operations(dialect) {
				t.Run(about+"/"+name, func(t *testing.T) { through(t, d, answers, dialect, o) })
			}
		}
	}
}

func through(t *testing.T, d *dispatch.Dispatcher, answers *echoed, dialect string, o interpreter.Operation) {
	r := interpreter.Request{Operation: o, Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"},
		Object: object}
	switch o {
	case interpreter.Revise:
		r.Replicas = 7
	case interpreter.Retain:
		r.Observed = json.RawMessage(`{"spec":{"replicas":9}}`)
	case interpreter.Aggregate:
		r.Members = []interpreter.Member{{Cluster: "a", Applied: true, Status: json.RawMessage(`{"ready":1}`)},
			{Cluster: "b", Message: "no quota"}}
		if dialect == api.KindContext {
			r.Members[0].Health = "Healthy"
		}
	}
	got, err := d.Interpret(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(r, answers.asked, cmpopts.IgnoreTypes(&document.Node{})); diff != "" {
		t.Errorf("what was asked (-want +got):\n%s", diff)
	}
	all, _ := (&echoed{}).Interpret(t.Context(), r)
	want := interpreter.Response{Because: []string{"webhook any/" + configuration.WebhookName}}
	switch o {
	case interpreter.Replicas:
		want.Replicas, want.Requirements = all.Replicas, all.Requirements
	case interpreter.Components:
		want.Components = all.Components
	case interpreter.Dependencies:
		want.Dependencies = all.Dependencies
	case interpreter.Status:
		want.Status = all.Status
	case interpreter.Health:
		want.Healthy = all.Healthy
	default:
		want.Patch = all.Patch
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("what was answered (-want +got):\n%s", diff)
	}
	r.Object = json.RawMessage(`{"spec":"lame"}`)
	_, err = d.Interpret(t.Context(), r)
	if f, ok := errors.AsType[*interpreter.Failure](err); !ok || f.Code != 422 ||
		!strings.Contains(f.Message, "spec.replicas is lame") {
		t.Errorf("got %v", err)
	}
}

// answering answers with a status and a body in which UID is replaced by that of the question. Headers are Name: value.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m dispatch.ContextMessage
		_ = json.NewDecoder(r.Body).Decode(&m)
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "UID", string(m.Request.UID)))
	}
}

const fine = `{"response":{"uid":"UID","successful":true,"healthy":true,"more":1}}`

// TestAnswers checks which imperfect answers are accepted, and the errors of all other ones.
func TestAnswers(t *testing.T) {
	var (
		calls atomic.Int32
		waits atomic.Value
	)
	for _, c := range []struct {
		about string
		h     http.HandlerFunc
		wrong string
		code  int
	}{
		{"no kind, other fields", answering(200, fine), "", 0},
		{"another kind of text", answering(200, fine, "Content-Type: text/plain"), "", 0},
		{"rejects another uid", answering(200, `{"response":{"uid":"x","successful":true}}`),
			`the uid of the response is "x"`, 0},
		{"rejects an answer without a response", answering(200, `{}`), "there is no response", 0},
		{"rejects an answer that is not JSON", answering(200, `hello`), "couldn't", 0},
		{"returns the webhook's reason", answering(200, `{"response":{"uid":"UID","status":{"message":"lame","code":422}}}`),
			"lame", 422},
		{"returns the message of a Status",
			answering(404, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"none such","code":404}`),
			"none such", 404},
		{"returns the text of an error", answering(500, `it is broken`), "it is broken", 500},
		{"ends the call after the timeout", func(_ http.ResponseWriter, r *http.Request) {
			waits.Store(r.URL.Query().Get("timeout"))
			_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the caller has left
			<-r.Context().Done()
		}, "it did not answer within 1s", 0},
		{"busy at first", func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 1 {
				answering(503, "", "Retry-After: 0")(w, r)
				return
			}
			answering(200, fine)(w, r)
		}, "", 0},
	} {
		t.Run(c.about, func(t *testing.T) {
			e := serve(t, c.h)
			if c.about == "ends the call after the timeout" {
				e.TimeoutSeconds = 1
			}
			_, err := health(t, dispatch.Any(api.KindContext, e))
			if got := fmt.Sprint(err); c.wrong == "" && err != nil || !strings.Contains(got, c.wrong) {
				t.Errorf("got %s", got)
			}
			_, called := errors.AsType[*dispatch.Error](err)
			f, failed := errors.AsType[*interpreter.Failure](err)
			if called != (c.wrong != "") || failed != (c.code != 0) || failed && f.Code != c.code {
				t.Errorf("got %#v", err)
			}
		})
	}
	if waits.Load() != "1s" {
		t.Errorf("want a timeout of 1s in the request, got %v", waits.Load())
	}
}

func health(t *testing.T, hooks dispatch.Hooks) (interpreter.Response, error) {
	t.Helper()
	d, err := dispatch.New(dispatch.Options{Hooks: hooks})
	if err != nil {
		t.Fatal(err)
	}
	r := interpreter.Request{Operation: interpreter.Health,
		Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Object: object}
	return d.Interpret(t.Context(), r)
}

// TestUntrusted checks that only servers with a trusted certificate are called.
func TestUntrusted(t *testing.T) {
	e := serve(t, answering(200, fine))
	e.CABundle = env.NewAuthority(t).PEM
	if _, err := health(t, dispatch.Any(api.KindContext, e)); err == nil ||
		!strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("got %v", err)
	}
}

// TestPolicies tests which webhook answers in the proposal if another fails: Ignore skips it, and Fail ends the call.
func TestPolicies(t *testing.T) {
	const answer = `{"response":{"uid":"UID","healthy":true}}`
	good, broken := serve(t, answering(200, answer)), serve(t, answering(500, "broken"))
	webhook := func(name string, e configuration.Endpoint, policy admissionv1.FailurePolicyType,
		version string) configuration.Webhook {
		return configuration.Webhook{
			Name: name, ClientConfig: admissionv1.WebhookClientConfig{URL: &e.URL, CABundle: e.CABundle}, FailurePolicy: &policy,
			Rules: []configuration.OperationRule{{Operations: []string{"*"},
				APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}}},
			ExploreReviewVersions: []string{"v9", version},
		}
	}
	for _, c := range []struct {
		about    string
		webhooks []configuration.Webhook
		because  []string
		wrong    string
		code     int
	}{
		{"the first answers",
			[]configuration.Webhook{webhook("a", good, "Fail", "v1alpha1"), webhook("b", broken, "Fail", "v1alpha1")},
			[]string{"webhook w/a"}, "", 0},
		{"the first one fails, and the second is not called",
			[]configuration.Webhook{webhook("a", broken, "Fail", "v1alpha1"), webhook("b", good, "Fail", "v1alpha1")},
			nil, `webhook w/a: an error on the server ("broken")`, 500},
		{"Ignore skips a broken webhook",
			[]configuration.Webhook{webhook("a", broken, "Ignore", "v1alpha1"), webhook("b", good, "Fail", "v1alpha1")},
			[]string{`skipped because its failurePolicy is Ignore: webhook w/a: an error on the server ` +
				`("broken") has prevented the request from succeeding`, "webhook w/b"}, "", 0},
		{"no version of its messages is supported", []configuration.Webhook{webhook("a", good, "Fail", "v1")},
			nil, "webhook w/a: none of the versions [v9, v1] is supported", 0},
		{"Ignore skips a webhook without a known version",
			[]configuration.Webhook{webhook("a", good, "Ignore", "v1"), webhook("b", good, "Fail", "v1alpha1")},
			[]string{"skipped because its failurePolicy is Ignore: webhook w/a: none of the versions [v9, v1] is supported; " +
				"supported is v1alpha1", "webhook w/b"}, "", 0},
		{"Ignore skips the only webhook", []configuration.Webhook{webhook("a", broken, "Ignore", "v1alpha1")},
			nil, "no webhook is registered for health of Queue.v1.acme.com; skipped because its failurePolicy is Ignore", 404},
		{"no webhook is registered", nil, nil, "no webhook is registered for health of Queue.v1.acme.com", 404},
	} {
		t.Run(c.about, func(t *testing.T) {
			of := &configuration.Configuration{Webhooks: c.webhooks}
			of.Name = "w"
			got, err := health(t, dispatch.Explorers(of))
			if diff := gocmp.Diff(c.because, got.Because, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if text := fmt.Sprint(err); c.wrong == "" && err != nil || !strings.Contains(text, c.wrong) {
				t.Errorf("got %s", text)
			}
			if f, failed := errors.AsType[*interpreter.Failure](err); failed != (c.code != 0) || failed && f.Code != c.code {
				t.Errorf("got %#v", err)
			}
		})
	}
}

// TestAsks checks that the selected webhook is known without a call.
func TestAsks(t *testing.T) {
	d, err := dispatch.New(dispatch.Options{Hooks: dispatch.Any(api.KindReview,
		configuration.Endpoint{URL: "https://localhost:1"})})
	if err != nil {
		t.Fatal(err)
	}
	kind := interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}
	for o, want := range map[interpreter.Operation]bool{interpreter.Health: true, interpreter.Components: false,
		"other": false} {
		if got := d.Asks(kind, object, o); got != want {
			t.Errorf("%s: got %t", o, got)
		}
	}
	if d.Asks(kind, []byte(`[]`), interpreter.Health) {
		t.Error("a list is not an object")
	}
}
