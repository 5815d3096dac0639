// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cloudtest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// compile reads a document; edits are pairs of a text and what stands in its place.
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
	return web.Compile(spec, nodes[0], "http")
}

// open makes a cloud of a document, at a server.
func open(t *testing.T, name, url string, edits ...string) *web.Cloud {
	t.Helper()
	definition, findings := compile(t, name, append([]string{"https://fabric.example.com", url}, edits...)...)
	if findings = findings.Errors(); len(findings) > 0 {
		t.Fatal(findings)
	}
	made, err := web.New(definition, web.Options{Timeout: patience, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// patience is how long the clouds under test wait for an answer.
const patience = 250 * time.Millisecond

// TestSuite runs what every cloud must pass, on a cloud that breaks in different ways.
func TestSuite(t *testing.T) {
	for name, faults := range map[string][]fault{
		"sound": nil, "lost answers": {none, lost}, "errors": {none, broken}, "slow": {none, none, none, none, none, none, none, none, slow}, "busy": {none, busy},
		"all of it": {lost, broken, busy, slow, none, none, none, none, none, none, none, none, none, none},
	} {
		for document, run := range map[string]func(*testing.T, func(*testing.T) cloud.Cloud){
			"ports.yaml": cloudtest.Run, "repeated.yaml": cloudtest.Run, "choosing.yaml": cloudtest.RunChoosing,
		} {
			if document != "ports.yaml" && name != "sound" && name != "all of it" {
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
					return open(t, document, server.URL)
				})
			})
		}
	}
}
