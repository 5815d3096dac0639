// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"os"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/cloudtest"
)

// FuzzAnswer checks that any answer gives a valid binding that can be stored, or an error.
func FuzzAnswer(f *testing.F) {
	raw, err := os.ReadFile("testdata/document.yaml")
	if err != nil {
		f.Fatal(err)
	}
	nodes, findings := source.Parse(source.File{Name: "document.yaml", Data: raw})
	var spec v1alpha1.NetworkHTTP
	if findings = append(findings, source.Decode(nodes[0], "http", &spec)...); len(findings) > 0 {
		f.Fatal(findings)
	}
	definition, findings := Compile(spec, source.Place{Node: nodes[0], Path: "http"})
	if len(findings) > 0 {
		f.Fatal(findings)
	}
	for _, seed := range []string{
		`{"mac": "fa:16:3e:00:00:01", "vlan": 1, "cidrs": ["10.0.0.10/24"], "gateways": ["fd00::1%eth0"], "routes": [{"destination": "::ffff:10.0.0.0/8"}], "id": {}}`,
		`{"mac": null, "vlan": -1, "cidrs": ["10.0.0.10/99"], "id": 1e999}`, `[]`, `null`, `{"mac": "", "cidrs": ["::ffff:10.0.0.1/120", "fe80::1%1/64"], "id": "\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := &response{call: definition.bind, status: 200, body: raw}
		if err := r.setVariables(variables(network.Allocation{})); err != nil {
			t.Fatal(err)
		}
		binding, err := r.binding(t.Context(), network.Allocation{})
		if err != nil {
			return
		}
		cloudtest.Sound(t, binding)
	})
}
