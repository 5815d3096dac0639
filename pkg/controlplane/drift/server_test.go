// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// TestServer holds what is sent, and what is made of answers.
func TestServer(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/cluster/api/said":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","message":"no"}`)
		case "/cluster/api/unsaid":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>")
		default:
			_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), body)
		}
	}))
	defer web.Close()
	host, err := url.Parse(web.URL + "/cluster/")
	if err != nil {
		t.Fatal(err)
	}
	s := drift.Server{Host: host, Client: web.Client()}
	got, err := s.Call(t.Context(), drift.Call{Verb: "PATCH", Path: "/api/x", Query: url.Values{"a": {"b"}}, Type: "text/plain", Body: []byte("{}")})
	if want := "PATCH /cluster/api/x?a=b text/plain {}"; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for path, want := range map[string]string{"/api/said": "403 no", "/api/unsaid": "502 GET /api/unsaid: HTTP status 502"} {
		_, err := s.Call(t.Context(), drift.Call{Verb: "GET", Path: path})
		answer, is := errors.AsType[*drift.Answer](err)
		if !is || fmt.Sprint(answer.HTTPStatus(), " ", answer) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	web.Close()
	if _, err := s.Call(t.Context(), drift.Call{Verb: "GET", Path: "/api/x"}); err == nil {
		t.Error("a server that is away answers")
	}
}
