// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
)

// cases reads a list of cases.
func cases[T any](t *testing.T, name string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	if err := yaml.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWrong checks the findings about documents and their positions.
func TestWrong(t *testing.T) {
	type wrong struct{ Name, Document, Findings string }
	for _, c := range cases[wrong](t, "wrong.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			_, findings := parse(t, "wrong.yaml", c.Document)
			var lines []string
			for _, finding := range findings {
				if finding.Line != 1 || finding.Rule == "" {
					t.Errorf("the finding lacks a line or a rule: %#v", finding)
				}
				lines = append(lines, finding.Path+": "+finding.Message)
			}
			if diff := cmp.Diff(sorted(c.Findings), sorted(strings.Join(lines, "\n"))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// answering returns the cloud of document.yaml with a server that has the handler.
func answering(t *testing.T, handler http.HandlerFunc, edits ...string) *web.Cloud {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	definition, findings := compile(t, "document.yaml", append([]string{"https://fabric.example.com", server.URL}, edits...)...)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	made, err := web.New(definition, web.Options{Timeout: time.Minute, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// intent is an allocation with addresses.
func intent(addresses ...string) network.Allocation {
	a := network.Allocation{
		Owner: network.Owner{Contract: "dranet", Key: "uid/pci 1?&#/.."}, Pool: "over/lay", State: network.Intended, Since: time.Unix(1e9, 0), VLAN: 7,
		Holder: network.Holder{Kind: "ResourceClaim", Namespace: "default", Name: "claim"},
	}
	for _, address := range addresses {
		a.Addresses = append(a.Addresses, netip.MustParseAddr(address))
	}
	return a
}

// TestAnswers checks the results of a cloud's answers.
func TestAnswers(t *testing.T) {
	type answer struct {
		Name, Body, Binding, Error string
		Status                     int
		Headers                    map[string]string
		Wanted                     []string
		Refused                    bool
		RetryAfter                 time.Duration `yaml:"retryAfter"`
	}
	for _, c := range cases[answer](t, "answers.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			made := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range c.Headers {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.Status)
				_, _ = io.WriteString(w, c.Body)
			})
			binding, err := made.Bind(t.Context(), intent(c.Wanted...))
			if err == nil {
				err = errors.New("")
			}
			if diff := cmp.Diff(c.Error, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error contains the cloud's answer: %v", err)
			}
			if errors.Is(err, network.ErrRefused) != c.Refused {
				t.Errorf("refused is %v", !c.Refused)
			}
			var later *cloud.RetryAfter
			if errors.As(err, &later); c.RetryAfter > 0 && (later == nil || later.After != c.RetryAfter) {
				t.Errorf("to be asked again: %v, want in %s", later, c.RetryAfter)
			}
			if c.Binding != "" {
				if diff := cmp.Diff(asJSON(t, []byte(c.Binding)), asJSON(t, binding)); diff != "" {
					t.Errorf("binding (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// asJSON is a value as JSON has it.
func asJSON(t *testing.T, value any) (decoded any) {
	t.Helper()
	raw, ok := value.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(raw, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// TestRequest checks the requests: computed values stay within their part of the URL.
func TestRequest(t *testing.T) {
	var sent []string
	made := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, strings.Join([]string{
			r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("X-Team"), r.Header.Get("X-Allocation"), r.Header.Get("Authorization"), string(body),
		}, " | "))
		_, _ = io.WriteString(w, `{"mac": "", "cidrs": ["10.0.0.10/24"], "id": "a/../b?c"}`)
	})
	a := intent("10.0.0.10")
	var err error
	if a.Binding, err = made.Bind(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := made.Unbind(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`POST | /v1/pools/over%2Flay/ports?owner=dranet%2Fuid%2Fpci+1%3F%26%23%2F..&vlan=7 | application/json | application/vnd.acme+json | net | 757b7126b43265c55a87795c3d6a4c43 |  | ` +
			`{"ips":["10.0.0.10"],"node":"none","holder":"ResourceClaim/default/claim"}`,
		`DELETE | /v1/ports/a%2F..%2Fb%3Fc |  | application/vnd.acme+json | net | 757b7126b43265c55a87795c3d6a4c43 |  | `,
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, part := range []string{`""`, `"."`, `".."`} {
		a.Binding.Reference = json.RawMessage(`{"id": ` + part + `}`)
		if err := made.Unbind(t.Context(), a); !errors.Is(err, network.ErrNotSent) || !strings.Contains(err.Error(), "a segment of the path is empty") {
			t.Errorf("releasing with the invalid name %s: want ErrNotSent, got %v", part, err)
		}
	}
	a.Pool = ".."
	if _, err := made.Bind(t.Context(), a); !errors.Is(err, network.ErrNotSent) || len(sent) != 2 {
		t.Errorf("binding with an invalid name: want ErrNotSent and no request, got %v, sent %v", err, sent[2:])
	}
}

// TestBounds checks the size limits of answers.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"an answer that is too large":   {`{"mac": "` + strings.Repeat("x", 1<<20) + `"}`, "the answer has more than 1048576 bytes"},
		"a reference that is too large": {`{"mac": "", "cidrs": ["10.0.0.10/24"], "id": "` + strings.Repeat("x", 16<<10) + `"}`, "the reference has 16393 bytes, and the ledger keeps at most 16384"},
	} {
		t.Run(name, func(t *testing.T) {
			made := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
			if _, err := made.Bind(t.Context(), intent()); err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestRedirect checks that only redirects with the same host and method are followed.
func TestRedirect(t *testing.T) {
	made := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/pools/"):
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
		case r.URL.Path == "/moved" && r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, `{"mac": "", "cidrs": ["10.0.0.10/24"], "id": %d}`, len(body))
		default:
			http.Redirect(w, r, "/v1/gone", http.StatusSeeOther)
		}
	})
	a := intent()
	var err error
	if a.Binding, err = made.Bind(t.Context(), a); err != nil || string(a.Binding.Reference) == `{"id":0}` {
		t.Fatal(err, string(a.Binding.Reference))
	}
	if err := made.Unbind(t.Context(), a); err == nil || err.Error() != "the cloud answered unbind with status 303" {
		t.Errorf("a redirect that would turn DELETE into GET: %v", err)
	}
}
