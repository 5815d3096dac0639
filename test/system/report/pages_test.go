//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

const openstack = "../../../example/profiles/openstack/profile.yaml"

// difference and comparison are made once for all tests, which run one after the other.
var (
	difference = once(makeDifference)
	comparison = once(makeComparison)
)

func once(build func(*testing.T) *report.Page) func(*testing.T) *report.Page {
	var page *report.Page
	return func(t *testing.T) *report.Page {
		t.Helper()
		if page == nil {
			page = build(t)
		}
		return page
	}
}

// makeDifference is what the OpenStack profile makes of the control plane that Gardener writes; an object is denied
// besides.
func makeDifference(t *testing.T) *report.Page {
	t.Helper()
	program := golden.Compile(t, compiler.Options{}, openstack)
	known, err := sample.Facts(sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := sample.ControlPlane(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := known.Namespace
	var changes []*render.Change
	for _, object := range objects {
		change, err := render.NewChange(object.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := change.Admit(t.Context(), program, render.Admission{Namespace: namespace.Name, Labels: namespace.Labels, Operation: "CREATE"}, &facts.Static{Facts: known}); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, change)
	}
	denied, err := render.NewChange([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-scheduler-of-yore"}}`))
	if err != nil {
		t.Fatal(err)
	}
	denied.Denied = errors.New("rule scheduler policy at openstack/profile.yaml:57: the object has no container kube-scheduler")
	page := render.Style{
		Title: "What openstack changes for Kubernetes 1.34.2",
		About: []report.Fact{{Name: "Profile", Value: "openstack/profile.yaml"}, {Name: "Shoot", Value: namespace.Name}, {Name: "Region", Value: "eu-1"}},
	}.Page(append(changes, denied)...)
	return page
}

// edits are what another version of the OpenStack profile does otherwise: for everybody, for some, and wrongly for
// some.
var edits = strings.NewReplacer(
	"$(hostname | cut -d . -f 1)", "$(hostname -s)",
	`capacity: "${ parameters.etcdMainCapacity }"`, `capacity: 50Gi`,
	"  kube-controller-manager:\n", `  kube-controller-manager:
  - name: look at nodes more often
    when: ${ shoot.kubernetes.satisfies("< 1.34") }
    flags: {set: {node-monitor-period: 2s}}
`, "  kube-scheduler:\n", `  kube-scheduler:
  - name: zone of the scheduler
    when: ${ has(shoot.spec.controlPlane) }
    podAnnotations: {set: {zone: "${ shoot.annotations['openstack/zone'] }"}}
`)

// makeComparison is what the other version changes on the control planes that Gardener writes.
func makeComparison(t *testing.T) *report.Page {
	t.Helper()
	was := golden.Read(t, openstack)
	is := was
	was.Name, is.Name = "v1.4.0/profile.yaml", "openstack/profile.yaml"
	is.Data = []byte(edits.Replace(string(is.Data)))
	matrix := compare.Matrix{
		Base: scene.Options{Provider: "openstack"}, Versions: []string{"1.32", "1.33", "1.34"},
		Variants: []string{"plain", "ha", "ipv6"},
	}
	scenes, err := matrix.Scenes(t.Context(), gardener.Generator{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := compare.Run(t.Context(), compare.Options{
		Old: compare.Program{Program: compile(t, was)}, New: compare.Program{Program: compile(t, is)},
		OldName: "v1.4.0:openstack", NewName: "openstack", OldFiles: []string{was.Name}, NewFiles: []string{is.Name},
		Scenes: scenes,
	})
	if err != nil {
		t.Fatal(err)
	}
	changes := make([]*render.Change, len(result.Groups))
	for i, g := range result.Groups {
		changes[i] = g.Change
		changes[i].Shoots = g.Shoots
	}
	return render.Style{Title: "What the new version of the profiles changes"}.Page(changes...)
}

func compile(t *testing.T, file source.File) *mutation.Program {
	t.Helper()
	documents, findings := profile.Load(file)
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// hostile is a page of long words and texts that would be markup.
func hostile() *report.Page {
	long := strings.Repeat("averylongwordwithoutanyspace", 40)
	script := "</script><script>console.error('run')</script><img src=https://example.com/x.png onerror=console.error(1)>"
	rule := report.Rule{Name: script + long, Profile: long, At: long + ":1"}
	return &report.Page{
		Title: script + long, Facts: []report.Fact{{Name: long, Value: script}},
		Figures: []report.Figure{{Value: long, Label: long}},
		Sections: []report.Section{{
			Kind: long, Name: script, Note: long, For: []string{long, script}, Denied: long + "\n" + script,
			Blocks: []report.Block{{Heading: long, Lines: []report.Line{{Op: report.Added, Indent: 40, Text: long, By: &rule}, {Indent: 9, Text: script + strings.Repeat("\t", 60)}}}},
			Rules:  []report.Applied{{Rule: rule, Outcome: report.Skipped, Reason: long}},
		}, {Kind: "K", Name: "n"}},
		Rest: []report.Names{{Heading: long, Names: []string{long, script}}},
	}
}
