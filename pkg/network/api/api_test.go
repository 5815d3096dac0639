// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
)

type inner struct {
	Names []string       `json:"names"`
	Small int8           `json:"small"`
	Scope uint8          `json:"scope"`
	Flags map[string]int `json:"flags"`
	On    *bool          `json:"on"`
	Of    *inner         `json:"of"`
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"names":["a"],"on":true,"unknown":{"x":1}}`, 0, ""},
		{" {} \n", 0, ""},
		{"", 400, "the body is empty: send a JSON object"},
		{"  ", 400, "the body is empty: send a JSON object"},
		{"{", 400, "the body is not JSON: unexpected end of JSON input, at byte 1"},
		{`{"names":[secret]}`, 400, "the body is not JSON: invalid character 's' looking for beginning of value, at byte 11"},
		{`{} x`, 400, "the body is not JSON: invalid character 'x' after top-level value, at byte 4"},
		{`{}{}`, 400, "the body is not JSON: invalid character '{' after top-level value, at byte 3"},
		{`[]`, 400, "the body has a value of the wrong type, at byte 1"},
		{`{"of":{"names":"secret"}}`, 400, "of.names has a value of the wrong type, at byte 23"},
		{`{"names":[7]}`, 400, "names has a value of the wrong type, at byte 11"},
		{`{"small":123456789}`, 400, "small has a value of the wrong type, at byte 18"},
		{`{"scope":-1}`, 400, "scope has a value of the wrong type, at byte 11"},
		{`{"on":"yes"}`, 400, "on has a value of the wrong type, at byte 11"},
		{`{"flags":[]}`, 400, "flags has a value of the wrong type, at byte 10"},
		{`{"names":["` + strings.Repeat("x", 200) + `"]}`, 413, "the body is larger than 128 bytes"},
	} {
		t.Run(c.body, func(t *testing.T) {
			var into inner
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
			err := api.Read(httptest.NewRecorder(), r, 128, &into)
			if c.status == 0 {
				if err != nil {
					t.Errorf("got error %v", err)
				}
				return
			}
			problem := api.ProblemOf(err)
			if problem == nil || problem.Status != c.status || problem.Message != c.want {
				t.Errorf("got %+v, want %d %s", problem, c.status, c.want)
			}
		})
	}
}

func TestProblemOf(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("allocating: %w", err) }
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{wrap(&network.Busy{Of: "fabric", RetryAfter: 100 * time.Millisecond}), 429, "allocating: busy: fabric is overloaded: the call would not end in time; try again in 100ms"},
		{wrap(network.ErrRefused), 422, "allocating: refused by the cloud"},
		{wrap(network.ErrNotSent), 500, "allocating: nothing was sent to the cloud, because the call cannot be encoded"},
		{wrap(network.ErrUnknownPool), 404, "allocating: unknown pool"},
		{wrap(network.ErrOutside), 400, "allocating: the address is outside of the pool"},
		{wrap(network.ErrTaken), 409, "allocating: in use"},
		{wrap(network.ErrQuota), 403, "allocating: the quota is used up"},
		{wrap(network.ErrExhausted), 503, "allocating: exhausted"},
		{wrap(fmt.Errorf("%w: %w", network.ErrUnavailable, context.DeadlineExceeded)), 503, "allocating: unavailable: context deadline exceeded"},
		{wrap(context.DeadlineExceeded), 504, "it takes longer than the caller waits; the work continues: retry"},
		{wrap(api.Problemf(418, "no %s", "coffee")), 418, "no coffee"},
		{errors.New("open /secret: denied"), 500, "the server failed; its log has the reason"},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			recorder := httptest.NewRecorder()
			api.ProblemOf(c.err).Write(recorder)
			if recorder.Code != c.status || recorder.Body.String() != c.text {
				t.Errorf("got %d %s, want %d %s", recorder.Code, recorder.Body, c.status, c.text)
			}
			if after := recorder.Header().Get("Retry-After"); (c.status == 429) != (after == "1") {
				t.Errorf("got Retry-After %q", after)
			}
		})
	}
	if api.ProblemOf(nil) != nil {
		t.Error("ProblemOf(nil) returns a problem, want nil")
	}
}

func TestLine(t *testing.T) {
	if diff := cmp.Diff("one; two three four", api.Line(" one\ntwo\tthree\r\u2028four\n")); diff != "" {
		t.Error(diff)
	}
	for _, long := range []string{strings.Repeat("é", 1000), strings.Repeat("x", 899) + "éé", "\xff" + strings.Repeat("\x00", 2000)} {
		if got := api.Line(long); len(got) > 903 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00") {
			t.Errorf("got %d bytes: %q", len(got), got)
		}
	}
}

func TestWrite(t *testing.T) {
	recorder := httptest.NewRecorder()
	api.Write(recorder, http.StatusOK, map[string]string{"a": "<&>"})
	header := recorder.Header()
	if recorder.Body.String() != "{\"a\":\"<&>\"}\n" || header.Get("Content-Length") != "12" || header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s %v", recorder.Body, header)
	}
	recorder = httptest.NewRecorder()
	api.Write(recorder, http.StatusOK, nil)
	if recorder.Body.Len() != 0 || recorder.Header().Get("Content-Length") != "0" || recorder.Code != http.StatusOK {
		t.Errorf("got %d %s %v", recorder.Code, recorder.Body, recorder.Header())
	}
	recorder = httptest.NewRecorder()
	api.Write(recorder, http.StatusOK, func() {})
	if recorder.Code != http.StatusInternalServerError || recorder.Body.String() != "the server failed; its log has the reason" {
		t.Errorf("got %d %s", recorder.Code, recorder.Body)
	}
}

func TestMux(t *testing.T) {
	mux := api.NewMux(logr.Discard(), nil,
		api.Endpoint{Method: http.MethodGet, Path: "/health", Serve: func(w http.ResponseWriter, _ *http.Request) error {
			api.Write(w, http.StatusOK, "well")
			return nil
		}},
		api.Endpoint{Method: http.MethodPost, Path: "/things/{name}", Serve: func(_ http.ResponseWriter, r *http.Request) error {
			return api.Problemf(http.StatusConflict, "%s is in use", r.PathValue("name"))
		}},
		api.Endpoint{Method: http.MethodDelete, Path: "/broken", Serve: func(http.ResponseWriter, *http.Request) error { return errors.New("secret") }},
	)
	for _, c := range []struct {
		method, path string
		status       int
		allow, body  string
	}{
		{"GET", "/health", 200, "", "\"well\"\n"},
		{"HEAD", "/health", 200, "", "\"well\"\n"},
		{"POST", "/health", 405, "GET", "/health needs the method GET"},
		{"POST", "/things/a", 409, "", "a is in use"},
		{"DELETE", "/broken", 500, "", "the server failed; its log has the reason"},
		{"GET", "/things/a", 405, "POST", "/things/{name} needs the method POST"},
		{"GET", "/Health", 404, "", "there is no such path; there are /health, /things/{name}, /broken"},
	} {
		t.Run(c.method+c.path, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			mux.ServeHTTP(recorder, httptest.NewRequest(c.method, c.path, nil))
			if recorder.Code != c.status || recorder.Body.String() != c.body || recorder.Header().Get("Allow") != c.allow {
				t.Errorf("got %d %s Allow %s, want %d %s", recorder.Code, recorder.Body, recorder.Header().Get("Allow"), c.status, c.body)
			}
		})
	}
}

// FuzzRead checks that any body is decoded or rejected as an error of the caller, with a message of one printable line.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"of":{"names":["a"]}}`, `{"small":"x"}`, `{`, ``, `{} {}`, `{"flags":{"a":1e400}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var into inner
		r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(strings.NewReader(body)))
		problem := api.ProblemOf(api.Read(httptest.NewRecorder(), r, 1<<10, &into))
		if problem == nil {
			return
		}
		if problem.Status < 400 || problem.Status > 499 || problem.Message == "" || api.Line(problem.Message) != problem.Message {
			t.Errorf("got %d %q", problem.Status, problem.Message)
		}
	})
}

// TestReadEncoded checks that a compressed body is rejected as such, not as invalid JSON.
func TestReadEncoded(t *testing.T) {
	for encoding, status := range map[string]int{"": 0, "identity": 0, "Identity": 0, "gzip": 415, "deflate": 415, "gzip, identity": 415} {
		var into inner
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header.Set("Content-Encoding", encoding)
		err := api.Read(httptest.NewRecorder(), r, 128, &into)
		if status == 0 && err != nil {
			t.Errorf("%q: got error %v", encoding, err)
		}
		if problem := api.ProblemOf(err); status != 0 && (err == nil || problem.Status != status) {
			t.Errorf("%q: got %+v, want %d", encoding, problem, status)
		}
	}
}
