// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TestRefusalsHaveTheFormOfTheContract checks that refusals and panics are answered in the form of the contract, and that the panic of another
// goroutine is logged with its stack.
func TestRefusalsHaveTheFormOfTheContract(t *testing.T) {
	log := &strings.Builder{}
	c := Contract{
		Name: "own", Endpoint: func(string) string { return "do" },
		Refuse: func(w http.ResponseWriter, r *http.Request, p *api.Problem) {
			w.WriteHeader(p.Status)
			_, _ = fmt.Fprintf(w, "%s: %s", r.URL.Path, p.Message)
		},
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var value any = "with a secret"
			if r.URL.Path == "/crash" {
				func() {
					defer func() { value = recover() }()
					_ = []int{}[len(r.URL.Path)-6:][0]
				}()
			}
			panic(&api.Panic{Value: value, Stack: []byte("elsewhere.go")})
		}),
	}
	g := &router{
		contracts: []Contract{c}, guard: serving.NewGuard(few(), nil), metrics: NewMetrics(prometheus.NewRegistry()), browsers: true,
		log: funcr.New(func(_, line string) { log.WriteString(line) }, funcr.Options{}),
	}
	ask := func(path, origin string) string {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, path, http.NoBody)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		g.ServeHTTP(recorder, r)
		return fmt.Sprint(recorder.Code, " ", recorder.Body)
	}
	for _, test := range []struct{ path, origin, want string }{
		{"/do", "", "500 /do: the server failed; its log has the reason"},
		{"/crash", "", "500 /crash: the server failed; its log has the reason"},
		{"/do", "https://example.com", "403 /do: requests from web pages are refused"},
	} {
		if got := ask(test.path, test.origin); got != test.want {
			t.Errorf("got %s", got)
		}
	}
	g.guard = serving.NewGuard(serving.Limits{}, nil)
	if got := ask("/do", ""); got != "429 /do: the server is busy; try again" {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(log.String(), "index out of range") || !strings.Contains(log.String(), "elsewhere.go") || strings.Contains(log.String(), "secret") {
		t.Errorf("the log is %s", log)
	}
}
