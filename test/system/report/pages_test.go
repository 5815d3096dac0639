//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/report"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

const openstack = "../../../example/profiles/openstack/profile.yaml"

// difference is what the OpenStack profile makes of the control plane that Gardener writes; an object is denied besides.
func difference(t *testing.T) *report.Page {
	t.Helper()
	program, known := golden.Compile(t, mutation.Options{}, openstack), factsOf(t)
	objects, err := sample.ControlPlane(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := known.Facts.Namespace
	var changes []*render.Change
	for _, object := range objects {
		change, err := render.NewChange(object.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := change.Admit(t.Context(), program, render.Admission{Namespace: namespace.Name, Labels: namespace.Labels, Operation: "CREATE"}, known); err != nil {
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

func factsOf(t *testing.T) *facts.Static {
	t.Helper()
	cluster, err := sample.Cluster(sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(cluster)
	if err != nil {
		t.Fatal(err)
	}
	known, err := facts.FromCluster(raw)
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := sample.Namespace(sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &facts.Static{Facts: known.WithNamespace(facts.Namespace{
		Name: namespace.Name, Labels: namespace.Labels, Annotations: namespace.Annotations,
	})}
}

// comparison is a page with a matrix, groups and badges.
func comparison() *report.Page {
	external := report.Rule{Name: "external cloud provider", Profile: "acme", At: "acme/profile.yaml:44"}
	storage := report.Rule{Name: "storage", Profile: "acme", At: "acme/profile.yaml:130"}
	rolls, same, denied := report.Cell{Text: "rolls", Tone: report.Notable, Key: "kcm"}, report.Cell{Text: "same"}, report.Cell{Text: "denied", Tone: report.Bad, Key: "etcd"}
	page := &report.Page{
		Title: "acme 1.4.0 → 1.5.0", Lead: "What changes for whom when the profile is replaced, and which pods start anew.",
		Facts:   []report.Fact{{Name: "Profiles", Value: "acme"}, {Name: "Shoots", Value: "6"}},
		Figures: []report.Figure{{Value: "1", Label: "object denied", Tone: report.Bad}, {Value: "2", Label: "shoots whose nodes roll", Tone: report.Notable}, {Value: "3", Label: "shoots with changes"}, {Value: "3", Label: "shoots as they were", Tone: report.Good}},
		Matrix:  &report.Matrix{Title: "Shoots", Corner: "Shoot", Columns: []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "machine-controller-manager", "etcd-main", "nodes"}},
		Sections: []report.Section{
			{
				Key: "kcm", Kind: "Deployment", Name: "kube-controller-manager", Note: "1 rule changed it",
				Badges: []report.Badge{{Text: "pods roll", Tone: report.Notable}}, For: []string{"1.31.4", "1.32.1", "1.32.1, ha"},
				Blocks: []report.Block{{Heading: "spec.template.spec.containers[kube-controller-manager].command", Lines: []report.Line{
					{Text: "--v=2"}, {Op: report.Removed, Text: "--cloud-provider=acme", By: &external}, {Op: report.Added, Text: "--cloud-provider=external", By: &external},
				}}},
				Rules: []report.Applied{{Rule: external, Outcome: report.Changed}},
			},
			{Key: "etcd", Kind: "Etcd", Name: "etcd-main", For: []string{"1.34.2, ha, ipv6"}, Denied: "rule storage at acme/profile.yaml:130: the capacity may not shrink",
				Rules: []report.Applied{{Rule: storage, Outcome: report.Skipped, Reason: "the object was denied"}}},
		},
	}
	for i, shoot := range []string{"1.31.4", "1.32.1", "1.32.1, ha", "1.33.5", "1.34.2", "1.34.2, ha, ipv6"} {
		row := report.MatrixRow{Name: shoot, Cells: []report.Cell{same, same, same, same, same, same}}
		if i < 3 {
			row.Cells[1] = rolls
		}
		if i == 5 {
			row.Cells[4] = denied
		}
		page.Matrix.Rows = append(page.Matrix.Rows, row)
	}
	return page
}

// hostile is a page of long words and texts that would be markup.
func hostile() *report.Page {
	long := strings.Repeat("averylongwordwithoutanyspace", 40)
	script := "</script><script>console.error('run')</script><img src=https://example.com/x.png onerror=console.error(1)>"
	rule := report.Rule{Name: script + long, Profile: long, At: long + ":1"}
	return &report.Page{
		Title: script + long, Lead: long, Facts: []report.Fact{{Name: long, Value: script}}, Figures: []report.Figure{{Value: long, Label: long}},
		Matrix: &report.Matrix{Title: long, Corner: script, Columns: []string{long, long}, Rows: []report.MatrixRow{{Name: long, Cells: []report.Cell{{Text: long}, {Text: script}}}}},
		Sections: []report.Section{{
			Kind: long, Name: script, Note: long, Badges: []report.Badge{{Text: long}}, For: []string{long, script}, Denied: long + "\n" + script,
			Blocks: []report.Block{{Heading: long, Lines: []report.Line{{Op: report.Added, Indent: 40, Text: long, By: &rule}, {Indent: 9, Text: script + strings.Repeat("\t", 60)}}}},
			Rules:  []report.Applied{{Rule: rule, Outcome: report.Skipped, Reason: long}},
		}, {Kind: "K", Name: "n"}},
		Rest: []report.Names{{Heading: long, Names: []string{long, script}}}, Made: long,
	}
}
