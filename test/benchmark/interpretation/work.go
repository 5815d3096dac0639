// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// work is what is compared without a network: Graft's handler, and the scripts that are written from the same profiles.
type work struct {
	program *rule.Program
	handler http.Handler
	pair    *luatest.Pair
	scripts *lua.Customizations
	// fresh compiles scripts for each question, as Karmada does; kept compiles them once.
	fresh, kept *luatest.Machine
}

func newWork() (*work, error) {
	program, err := newProgram()
	if err != nil {
		return nil, err
	}
	w := &work{program: program, handler: api.New(api.Options{Interpreter: program, Prompt: true, Log: logr.Discard()})}
	documents, err := gardener.Profiles()
	if err != nil {
		return nil, err
	}
	customizations, findings := lua.Translate(documents, lua.Options{})
	if err := findings.Err(); err != nil {
		return nil, err
	}
	for i, c := range customizations {
		if schema.FromAPIVersionAndKind(c.Spec.Target.APIVersion, c.Spec.Target.Kind) == schema.GroupVersionKind(kind) {
			w.scripts = &customizations[i].Spec.Customizations
		}
	}
	if w.scripts == nil {
		return nil, fmt.Errorf("there is no customization for %s", kind)
	}
	pair, findings := luatest.NewPair(documents, lua.Options{})
	if pair == nil {
		return nil, findings.Err()
	}
	w.pair = pair
	if w.fresh, err = luatest.New(); err != nil {
		return nil, err
	}
	if w.kept, err = luatest.New(); err != nil {
		return nil, err
	}
	w.fresh.Limit, w.kept.Limit, w.kept.Keep = luatest.Limit, luatest.Limit, true
	return w, nil
}

func (w *work) close() {
	w.pair.Close()
	w.fresh.Close()
	w.kept.Close()
}

// brokenOff is in what is said of a script that took longer than Karmada waits: a second, which large objects reach on a machine that does much else.
const brokenOff = "context deadline exceeded"

// check holds that the rules and the scripts give the same answer.
func (w *work) check(r interpreter.Request) error {
	difference, err := w.pair.Difference(r)
	if err == nil && difference != "" {
		err = fmt.Errorf("the scripts answer otherwise: %s", difference)
	}
	return err
}

// answer is the codec and the rules, all but the network.
func (w *work) answer(body []byte) error {
	d := discard{header: http.Header{}}
	w.handler.ServeHTTP(&d, &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/", RawQuery: "timeout=10s"}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	})
	if d.status != http.StatusOK {
		return fmt.Errorf("the handler answers %d", d.status)
	}
	return nil
}

// script answers by a script. What is broken off has cost what it did until then.
func (w *work) script(m *luatest.Machine, r interpreter.Request) error {
	_, err := m.Answer(w.scripts, r)
	if err != nil && strings.Contains(err.Error(), brokenOff) {
		return nil
	}
	return err
}

// discard is a response that nobody reads.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
