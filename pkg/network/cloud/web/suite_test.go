// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
)

// compile reads a document; edits are pairs of a text and its replacement.
func compile(t *testing.T, name string, edits ...string) (*web.Definition, source.Findings) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, name, strings.NewReplacer(edits...).Replace(string(raw)))
}

func parse(t *testing.T, name, text string) (*web.Definition, source.Findings) {
	t.Helper()
	nodes, findings := source.Parse(source.File{Name: name, Data: []byte(text)})
	if len(findings) > 0 || len(nodes) != 1 {
		t.Fatal(findings)
	}
	var spec v1alpha1.NetworkHTTP
	if findings := source.Decode(nodes[0], "http", &spec); len(findings) > 0 {
		t.Fatal(findings)
	}
	return web.Compile(spec, source.Place{Node: nodes[0], Path: "http"})
}

// open makes a cloud of a document, at a server.
func open(t *testing.T, name, url string) *web.Cloud {
	t.Helper()
	definition, findings := compile(t, name, "https://fabric.example.com", url)
	if findings = findings.Errors(); len(findings) > 0 {
		t.Fatal(findings)
	}
	made, err := web.New(definition, web.Options{Timeout: time.Minute, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestSuite runs the suite of all clouds against a cloud that fails in different ways.
func TestSuite(t *testing.T) {
	const sound, all = "every call succeeds", "lost, failing, throttled and slow calls"
	for name, faults := range map[string][]fault{
		sound:                           nil,
		"every other answer is lost":    {none, lost},
		"every other call fails":        {none, broken},
		"every ninth call is slow":      {none, none, none, none, none, none, none, none, slow},
		"every other call is throttled": {none, busy},
		all:                             {lost, broken, busy, slow, none, none, none, none, none, none, none, none, none, none},
	} {
		for document, run := range map[string]func(*testing.T, func(*testing.T) cloud.Cloud){
			"ports.yaml": cloudtest.Run, "repeated.yaml": cloudtest.Run, "choosing.yaml": cloudtest.RunChoosing,
		} {
			if document != "ports.yaml" && name != sound && name != all {
				continue
			}
			t.Run(name+"/"+document, func(t *testing.T) {
				t.Parallel()
				run(t, func(t *testing.T) cloud.Cloud {
					fabric, server := newFabric(t, faults...)
					t.Cleanup(func() {
						if left := fabric.left(); left > 0 {
							t.Errorf("%d ports are left in the cloud", left)
						}
					})
					return impatient{open(t, document, server.URL), fabric}
				})
			})
		}
	}
}

// impatient is a cloud with callers that leave when the fabric is slow.
type impatient struct {
	*web.Cloud
	fabric *fabric
}

func (i impatient) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	ctx, end := i.fabric.patience(ctx)
	defer end()
	return i.Cloud.Bind(ctx, a)
}

func (i impatient) Unbind(ctx context.Context, a network.Allocation) error {
	ctx, end := i.fabric.patience(ctx)
	defer end()
	return i.Cloud.Unbind(ctx, a)
}

// patience ends when the fabric is slow.
func (f *fabric) patience(ctx context.Context) (context.Context, func()) {
	ctx, leave := context.WithCancel(ctx)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(on httptrace.GotConnInfo) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.leaves[on.Conn.LocalAddr().String()] = leave
	}}), leave
}

// TestCallWithoutAnswerEnds checks that a call without an answer ends.
func TestCallWithoutAnswerEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	definition, findings := compile(t, "ports.yaml", "https://fabric.example.com", server.URL)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	made, err := web.New(definition, web.Options{Timeout: 50 * time.Millisecond, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.Bind(t.Context(), intent("10.0.0.10")); err == nil || err.Error() != "asking the cloud to bind: no answer within 50ms" {
		t.Errorf("got error %v", err)
	}
}
