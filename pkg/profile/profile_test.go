// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func TestParameters(t *testing.T) {
	nodes, problems := source.Parse(source.File{Name: "config.yaml", Data: []byte("one: {refuse: true, refus: 1}\ntwo: {refuse: \"yes\"}\nthree: {}\n")})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var parameters profile.Parameters
	if problems := source.Decode(nodes[0], "", &parameters); len(problems) > 0 {
		t.Fatal(problems)
	}
	documents, problems := profile.Load(
		source.File{Name: "1.yaml", Data: []byte(withParameter("one"))},
		source.File{Name: "2.yaml", Data: []byte(withParameter("two"))},
	)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `config.yaml:1:28: parameters.one.refus: the profile has no such parameter (did you mean "refuse"?)
config.yaml:2:15: parameters.two.refuse: must be of the type of the default at 2.yaml:5:22`
	if diff := cmp.Diff(want, parameters.Override(documents).Error()); diff != "" {
		t.Error(diff)
	}
	if got := documents[0].Parameters["refuse"]; got.Value != "true" || got.File != "config.yaml" {
		t.Errorf("the parameter is %s at %s", got.Value, got.Position())
	}
	if diff := cmp.Diff([]string{"three"}, parameters.Unused(documents)); diff != "" {
		t.Error(diff)
	}
}

func withParameter(name string) string {
	return `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: ` + name + `}
providers: [acme]
parameters: {refuse: false}
controlplane:
  kube-apiserver:
  - flags: {remove: [x]}
`
}

// TestMaximumRules checks the limit of rules in all sets of a profile, and that the finding is at the first excess
// rule.
func TestMaximumRules(t *testing.T) {
	text := func(last int) string {
		rule := "  - flags: {set: {a: b}}\n"
		return "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: many}\nproviders: [acme]\n" +
			"controlplane:\n  kube-apiserver:\n" + strings.Repeat(rule, profile.MaximumRules-5) +
			"controlplaneexposure:\n  etcd-main:\n" + strings.Repeat(rule, 2) + "  etcd-events:\n" + strings.Repeat(rule, last)
	}
	if _, findings := profile.Load(source.File{Name: "many.yaml", Data: []byte(text(3))}); len(findings) > 0 {
		t.Errorf("of as many as are allowed: %v", findings)
	}
	_, findings := profile.Load(source.File{Name: "many.yaml", Data: []byte(text(10))})
	const want = "many.yaml:8010:5: controlplaneexposure.etcd-events: the profile has more than 8000 rules"
	if diff := cmp.Diff(want, findings.Error()); diff != "" {
		t.Error(diff)
	}
}

// TestLoad checks the loaded form of a document. The engine's cases cover rejected documents.
func TestLoad(t *testing.T) {
	text := withParameter("one") + "  kube-scheduler:\n  - name: n\n    when: ${ true }\n    flags: {remove: [y]}\n"
	documents, problems := profile.Load(source.File{Name: "1.yaml", Data: []byte(text)})
	if len(problems) > 0 || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), problems)
	}
	d := documents[0]
	if len(d.Hash) != 12 || d.Summary() != "one@"+d.Hash+" [acme]" {
		t.Errorf("the summary is %s", d.Summary())
	}
	if len(d.ControlPlane) != 2 || d.ControlPlane[0].Target != "kube-apiserver" || d.ControlPlane[1].Target != "kube-scheduler" {
		t.Fatalf("the targets are not in the order of the document: %+v", d.ControlPlane)
	}
	rule := d.ControlPlane[1].Rules[0]
	if rule.Name != "n" || rule.When.Value != "${ true }" || rule.At.Position().String() != "1.yaml:10:5" ||
		len(rule.Operations) != 1 || rule.Operations[0].Key.Value != "flags" || rule.Path != "controlplane.kube-scheduler[0]" {
		t.Errorf("the rule is %+v", rule)
	}
	again, _ := profile.Load(source.File{Name: "1.yaml", Data: []byte(text + "# changed\n")})
	if again[0].Hash == d.Hash {
		t.Error("another file has the same hash")
	}
}

func TestAttach(t *testing.T) {
	const text = `
a: [{file: {contentFrom: files/a.sh}}]
b: {contentFrom: absent}
c: {contentFrom: ../outside}
d: {contentFrom: /etc/passwd}
e: {contentFrom: [files/a.sh]}
`
	var asked []string
	file := profile.Attach(source.File{Name: "p", Data: []byte(text)}, func(path string) ([]byte, error) {
		asked = append(asked, path)
		if path != "files/a.sh" {
			return nil, fs.ErrNotExist
		}
		return []byte("#!/bin/sh"), nil
	})
	if diff := cmp.Diff([]string{"files/a.sh", "absent"}, asked); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]byte{"files/a.sh": []byte("#!/bin/sh")}, file.Attachments); diff != "" {
		t.Errorf("attached (-want +got):\n%s", diff)
	}
}

// TestAttachNothing checks that files without attachments, which are read every second, are not parsed.
func TestAttachNothing(t *testing.T) {
	file := source.File{Name: "p", Data: []byte("a: [{file: {content: text}}]\n"), Attachments: map[string][]byte{"stale": nil}}
	read := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	if got := profile.Attach(file, read); got.Attachments != nil {
		t.Errorf("attached is %v", got.Attachments)
	}
	if got := testing.AllocsPerRun(10, func() { profile.Attach(file, read) }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
