// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// proxy forwards calls to Neutron, and disturbs them.
type proxy struct {
	url     string
	forward http.Handler

	mutex sync.Mutex
	fault func(http.ResponseWriter, *http.Request, http.Handler)
	// calls are the calls since the last reset, such as POST ports, and tokens their tokens.
	calls, tokens []string
}

func newProxy(neutron string) *proxy {
	p := &proxy{forward: reverse("http://" + neutron)}
	server := httptest.NewServer(p)
	DeferCleanup(server.Close)
	p.url = server.URL
	return p
}

// separate uses a connection for each request. Neutron serves one connection at a time here, and an idle one would
// block the other ones.
var separate = &http.Transport{DisableKeepAlives: true}

func reverse(target string) http.Handler {
	to, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: separate,
		// A Neutron that was killed closes connections, and the caller gets an answer without one.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// callName returns the method and the kind of a call.
func callName(r *http.Request) string {
	switch name := path.Base(r.URL.Path); name {
	case "ports", "trunks", "subnets", "add_subports", "remove_subports":
		return r.Method + " " + name
	default:
		return r.Method + " " + path.Base(path.Dir(r.URL.Path)) + "/id"
	}
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	p.calls = append(p.calls, callName(r))
	p.tokens = append(p.tokens, r.Header.Get("X-Auth-Token"))
	fault := p.fault
	p.mutex.Unlock()
	if fault == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	fault(w, r, p.forward)
}

// disturb sets a function that replaces forwarding; nil forwards. It ends with the spec.
func (p *proxy) disturb(fault func(w http.ResponseWriter, r *http.Request, forward http.Handler)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault = fault
}

// reset forgets faults and calls.
func (p *proxy) reset() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault, p.calls, p.tokens = nil, nil, nil
}

// seen returns the calls and the tokens since the last reset.
func (p *proxy) seen() (calls, tokens []string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append(calls, p.calls...), append(tokens, p.tokens...)
}

// loseAnswers forwards the first calls with a name and closes their connections instead of answering.
func loseAnswers(name string, count int) func(http.ResponseWriter, *http.Request, http.Handler) {
	var mutex sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		mutex.Lock()
		lose := callName(r) == name && count > 0
		if lose {
			count--
		}
		mutex.Unlock()
		if lose {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}
}

// putFirst moves the port with an address to the front of the requests for several ports, and forwards all calls.
func putFirst(address string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		raw, err := io.ReadAll(r.Body)
		var body struct {
			Ports []json.RawMessage `json:"ports"`
		}
		if err == nil && json.Unmarshal(raw, &body) == nil && len(body.Ports) > 0 {
			without := func(port json.RawMessage) bool { return !bytes.Contains(port, []byte(`"`+address+`"`)) }
			others := slices.DeleteFunc(slices.Clone(body.Ports), func(port json.RawMessage) bool { return !without(port) })
			body.Ports = append(slices.DeleteFunc(body.Ports, without), others...)
			raw, err = json.Marshal(body)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		forward.ServeHTTP(w, r)
	}
}

// answer answers all calls with a status.
func answer(status int, header ...string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if len(header) > 0 {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(status)
	}
}

// secureProxies serve Keystone and Neutron with certificates of a private authority.
type secureProxies struct {
	keystone, neutron string
	authority         []byte
}

func newSecureProxies(s *stack) *secureProxies {
	authority := env.NewAuthority(GinkgoTB())
	serve := func(handler http.Handler) string {
		server := httptest.NewUnstartedServer(handler)
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Pair("openstack")}}
		server.StartTLS()
		DeferCleanup(server.Close)
		return server.URL
	}
	return &secureProxies{serve(reverse("http://" + s.keystone)), serve(s.proxy), authority.PEM}
}
