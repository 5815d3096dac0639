//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

const openstack = "../../../example/profiles/openstack/profile.yaml"

// difference returns a report of the OpenStack profile's changes to the control plane that Gardener writes, and of an
// object that is denied.
func difference(ctx context.Context) *render.Page {
	GinkgoHelper()
	program := golden.Compile(GinkgoTB(), compiler.Options{}, openstack)
	known, err := samples.Facts(sample.Options{})
	Expect(err).NotTo(HaveOccurred(), "the facts of the sample")
	objects, err := sample.ControlPlane(ctx, sample.Options{})
	Expect(err).NotTo(HaveOccurred(), "the objects of the sample")
	namespace := known.Namespace
	var changes []*render.Change
	for _, object := range objects {
		change, err := render.NewChange(object.JSON)
		Expect(err).NotTo(HaveOccurred(), "reading an object")
		admission := render.Admission{Namespace: namespace.Name, Labels: namespace.Labels, Operation: "CREATE"}
		Expect(change.Admit(ctx, program, admission, &facts.Static{Facts: known})).To(Succeed(), "admitting an object")
		changes = append(changes, change)
	}
	denied, err := render.NewChange(
		[]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-scheduler-of-yore"}}`))
	Expect(err).NotTo(HaveOccurred(), "reading an object")
	denied.Denied = errors.New(
		"rule scheduler policy at openstack/profile.yaml:57: the object has no container kube-scheduler")
	return render.Style{
		Title: "What openstack changes for Kubernetes 1.34.2",
		About: []render.Fact{
			{Name: "Profile", Value: "openstack/profile.yaml"}, {Name: "Shoot", Value: namespace.Name},
			{Name: "Region", Value: "eu-1"},
		},
	}.Page(append(changes, denied)...)
}

// edits are the differences of another version of the OpenStack profile: for all shoots, for some, and with an error
// for some.
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

// comparison returns a report of the other version's changes to the control planes that Gardener writes.
func comparison(ctx context.Context) *render.Page {
	GinkgoHelper()
	was := golden.Read(GinkgoTB(), openstack)
	is := was
	was.Name, is.Name = "v1.4.0/profile.yaml", "openstack/profile.yaml"
	is.Data = []byte(edits.Replace(string(is.Data)))
	matrix := compare.Matrix{
		Base: snapshot.Options{Provider: "openstack"}, Versions: []string{"1.32", "1.33", "1.34"},
		Variants: []string{"plain", "ha", "ipv6"},
	}
	snapshots, err := matrix.Snapshots(ctx, gardener.Generator{})
	Expect(err).NotTo(HaveOccurred(), "writing control planes")
	result, err := compare.Run(ctx, compare.Options{
		Old: compare.CompiledSide{Program: compile(was)}, New: compare.CompiledSide{Program: compile(is)},
		OldName: "v1.4.0:openstack", NewName: "openstack", OldFiles: []string{was.Name}, NewFiles: []string{is.Name},
		Snapshots: snapshots,
	})
	Expect(err).NotTo(HaveOccurred(), "comparing the versions")
	changes := make([]*render.Change, len(result.Groups))
	for i, g := range result.Groups {
		changes[i] = g.Change
		changes[i].Shoots = g.Shoots
	}
	return render.Style{Title: "Changes by the new version of the profiles"}.Page(changes...)
}

func compile(file source.File) *mutation.Program {
	GinkgoHelper()
	documents, findings := profile.Load(file)
	Expect(findings.Err()).NotTo(HaveOccurred(), "loading %s", file.Name)
	program, err := compiler.Compile(documents, compiler.Options{})
	Expect(err).NotTo(HaveOccurred(), "compiling %s", file.Name)
	return program
}

// hostile returns a report of long words and texts that would be markup.
func hostile() *render.Page {
	long := strings.Repeat("averylongwordwithoutanyspace", 40)
	script := "</script><script>console.error('run')</script>" +
		"<img src=https://example.com/x.png onerror=console.error(1)>"
	rule := mutation.Applied{
		Rule: script + long, Profile: long, Position: source.Position{File: long,
			Line: 1}, Outcome: mutation.Skipped, Reason: long,
	}
	by := render.AuthorOf(rule)
	return &render.Page{
		Title: script + long, Facts: []render.Fact{{Name: long, Value: script}},
		Figures: []render.Figure{{Value: long, Label: long}},
		Sections: []render.PageSection{{
			Kind: long, Name: script, Note: long, For: []string{long, script}, Denied: long + "\n" + script,
			Blocks: []render.Section{{Path: long, Rows: []render.Row{
				{Edit: render.Edit{Op: render.Added, Line: render.Line{Text: long}, By: &by}, Indent: 40},
				{Edit: render.Edit{Op: render.Same, Line: render.Line{Text: script + strings.Repeat("\t", 60)}}, Indent: 9},
			}}},
			Rules: []mutation.Applied{rule},
		}, {Kind: "K", Name: "n"}},
		Rest: []render.NameList{{Heading: long, Names: []string{long, script}}},
	}
}
