// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// FuzzRange checks that an accepted range has one family and does not end before its start.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{
		"10.0.0.1", "10.0.0.1-10.0.0.9", "10.0.0.0/24", "fd00::1-fd00::9", "fd00::/64", "::ffff:10.0.0.1", "fe80::1%e-fe80::2", "-", "/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRange(text)
		if err != nil {
			return
		}
		if !r.IsValid() || r.From().BitLen() != r.To().BitLen() || r.To().Less(r.From()) || r.From().Is4In6() || r.From().Zone() != "" {
			t.Errorf("%q is %s", text, r)
		}
	})
}

// FuzzMACPrefix checks that an accepted MAC prefix leaves bytes for addresses and is not a multicast prefix.
func FuzzMACPrefix(f *testing.F) {
	for _, seed := range []string{"0a:58", "0a", "0a:58:00:00:00", "0a-58", "0a58.0000", "", ":", "zz", "0a:58:00:00:00:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prefix, err := parseMACPrefix(text)
		if err == nil && (len(prefix) == 0 || len(prefix) > maximumMACPrefix || prefix[0]&1 != 0) {
			t.Errorf("%q is % x", text, prefix)
		}
	})
}

// FuzzCompile checks that any document is compiled or rejected with positions, and that a compiled policy can be
// evaluated.
func FuzzCompile(f *testing.F) {
	paths, err := filepath.Glob("testdata/findings/*/profile.yaml")
	if err != nil || len(paths) == 0 {
		f.Fatal("no documents")
	}
	for _, path := range append(paths, "testdata/policy.yaml", "../../workbench/lint/testdata/duplicates/NetworkProfile.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add(`{"apiVersion":"graft.provider.extensions.gardener.cloud/v1alpha1","kind":"NetworkProfile","metadata":{"name":"a"},"pools":{"a":{"exclusive":true,` +
		`"subnets":[{"prefix":"10.0.0.0/24","ranges":["10.0.0.2"],"ranges":["10.0.0.2","10.0.1.2"]}]},"a":{"subnets":[{"prefix":"10.0.0.0/24"}],"nodes":["n"]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		documents, _ := profile.LoadNetworks(source.File{Name: "f", Data: []byte(text)})
		p, findings := Compile(documents)
		for _, finding := range findings {
			if finding.File != "f" || finding.Message == "" || finding.Rule == "" {
				t.Errorf("a finding without place, message or rule: %+v", finding)
			}
		}
		if p == nil {
			return
		}
		of, err := p.For("worker-1")
		if err != nil {
			return
		}
		for _, name := range of.ProfileNames() {
			_, _ = of.Profile(name).Config(t.Context(), Subject{}) // any result is valid
		}
		_ = of.Permit(t.Context(), Subject{})
		of.CheckAlone("worker-1", true)
	})
}
