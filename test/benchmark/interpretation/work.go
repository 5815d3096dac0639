// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/lua/luatest"
)

// work compares without a network: Graft's handler, scripts that Graft generates from the same profiles, and
// hand-written scripts.
type work struct {
	program *rule.Program
	handler http.Handler
	// generated and handwritten compare the answers of scripts with those of the rules.
	generated, handwritten *luatest.Pair
	scripts, hand          lua.Customizations
	// machine runs scripts as Karmada does, which compiles them for each request.
	machine *luatest.Machine
}

//go:embed handwritten.yaml
var handwritten []byte

func newWork() (*work, error) {
	program, err := newProgram()
	if err != nil {
		return nil, err
	}
	w := &work{program: program, handler: api.New(api.Options{Interpreter: program, Log: logr.Discard()})}
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
			w.scripts = customizations[i].Spec.Customizations
		}
	}
	if w.scripts == nil {
		return nil, fmt.Errorf("there is no customization for %s", kind)
	}
	var byHand lua.Customization
	if err := yaml.UnmarshalStrict(handwritten, &byHand); err != nil {
		return nil, fmt.Errorf("reading handwritten.yaml: %w", err)
	}
	w.hand = byHand.Spec.Customizations
	if w.generated, findings = luatest.NewPairOf(documents, customizations); w.generated == nil {
		return nil, findings.Err()
	}
	if w.handwritten, findings = luatest.NewPairOf(documents, []lua.Customization{byHand}); w.handwritten == nil {
		return nil, findings.Err()
	}
	if w.machine, err = luatest.New(); err != nil {
		return nil, err
	}
	w.machine.Limit = luatest.Limit
	return w, nil
}

func (w *work) close() {
	w.generated.Close()
	w.handwritten.Close()
	w.machine.Close()
}

// brokenOff is part of the error of a script that exceeds Karmada's time limit of a second. Large objects exceed it on
// a busy machine.
const brokenOff = "context deadline exceeded"

// check compares the answers of the rules with those of both kinds of scripts.
func (w *work) check(r interpreter.Request) error {
	for name, pair := range map[string]*luatest.Pair{"generated": w.generated, "handwritten": w.handwritten} {
		difference, err := pair.Difference(r)
		if err == nil && difference != "" {
			err = fmt.Errorf("the %s scripts answer otherwise: %s", name, difference)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answer runs the codec and the rules, without the network.
func (w *work) answer(body []byte) error {
	d := discard{header: http.Header{}}
	w.handler.ServeHTTP(&d, &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/", RawQuery: "timeout=10s"}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	})
	if d.status != http.StatusOK {
		return fmt.Errorf("the handler answers %d", d.status)
	}
	return nil
}

// script runs a script. The cost of an interrupted script is the cost until its interruption.
func (w *work) script(c lua.Customizations, r interpreter.Request) error {
	_, err := w.machine.Answer(c, r)
	if err != nil && strings.Contains(err.Error(), brokenOff) {
		return nil
	}
	return err
}

// discard is a ResponseWriter that discards the response.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
