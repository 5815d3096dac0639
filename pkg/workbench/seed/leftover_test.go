// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

const (
	scheduler = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-scheduler","namespace":"shoot--a--b","labels":{"l":"1"}},
		"spec":{"template":{"metadata":{"labels":{"p":"1"}},"spec":{"containers":[{"name":"kube-scheduler","command":["/kube-scheduler","--v=3"]}]}}}}`
	config = `{"apiVersion":"extensions.gardener.cloud/v1alpha1","kind":"OperatingSystemConfig","metadata":{"name":"x-original","namespace":"shoot--a--b"},
		"spec":{"type":"t","purpose":"reconcile","files":[],"units":[{"name":"kubelet.service","content":"[Service]\nExecStartPre=/bin/a\nExecStart=/opt/bin/kubelet --a=1\n"}]}}`
)

// TestLeftovers checks the report about deleted rules.
func TestLeftovers(t *testing.T) {
	for _, c := range []struct {
		name, object, old, new string
		want                   []string
	}{
		{"a rule that both have", scheduler, "controlplane: {kube-scheduler: [{flags: {set: {v: 3}}}]}", "controlplane: {kube-scheduler: [{name: x, flags: {set: {v: 3}}}]}", nil},
		{"a changed value is no leftover", scheduler, "controlplane: {kube-scheduler: [{flags: {set: {v: 3}}}]}", "controlplane: {kube-scheduler: [{flags: {set: {v: 4}}}]}", nil},
		{
			"a flag and a label of pods", scheduler,
			"controlplane: {kube-scheduler: [{name: flag, flags: {set: {v: 3}}}, {name: label, podLabels: {set: {p: '1'}}}]}",
			"controlplane: {kube-scheduler: [{annotations: {set: {a: b}}}]}",
			[]string{"no rule of NEW writes flag --v of container kube-scheduler, pod label p any more (flag, label)"},
		},
		{"values restored from records", scheduler, "controlplane: {kube-scheduler: [{labels: {set: {l: '1'}}}]}", "controlplane: {kube-scheduler: [{annotations: {set: {a: b}}}]}", nil},
		{"values that were never written", scheduler, "controlplane: {kube-scheduler: [{flags: {set: {v: 4}}}]}", "controlplane: {kube-scheduler: [{annotations: {set: {a: b}}}]}", nil},
		{"a removed flag that Gardener does not set", scheduler, "controlplane: {kube-scheduler: [{flags: {remove: [contention-profiling]}}]}", "controlplane: {kube-scheduler: [{annotations: {set: {a: b}}}]}", nil},
		{
			"a removed flag that Gardener sets", strings.Replace(scheduler, `,"--v=3"`, "", 1),
			"controlplane: {kube-scheduler: [{name: quiet, flags: {remove: [v]}}]}", "controlplane: {kube-scheduler: [{annotations: {set: {a: b}}}]}",
			[]string{"no rule of NEW writes flag --v of container kube-scheduler any more (quiet)"},
		},
		{"a removed flag of the kubelet that Gardener does not set", config, "controlplane: {kubelet: [{flags: {remove: [cloud-provider]}}]}", "controlplane: {kubelet: [{flags: {set: {a: 1}}}]}", nil},
		{
			"an addition that both have in other lines", config,
			"controlplane: {kubelet: [{unit: {section: Service, add: {ExecStartPre: /bin/a}}}]}",
			"controlplane:\n  kubelet:\n  - flags: {set: {a: 1}}\n  - unit: {section: Service, add: {ExecStartPre: /bin/a}}", nil,
		},
		{
			"an addition that is another", config,
			"controlplane: {kubelet: [{name: pre, unit: {section: Service, add: {ExecStartPre: /bin/a}}}]}",
			"controlplane: {kubelet: [{unit: {section: Service, add: {ExecStartPre: /bin/b}}}]}",
			[]string{"no rule of NEW writes unit option Service.ExecStartPre of unit kubelet.service any more (pre)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, err := manifest.New([]byte(c.object), source.Position{})
			if err != nil {
				t.Fatal(err)
			}
			known, err := facts.FromCluster([]byte(cluster))
			if err != nil {
				t.Fatal(err)
			}
			s := &snapshot.Snapshot{
				Facts: known.WithNamespace(facts.Namespace{Name: "shoot--a--b", Labels: map[string]string{"shoot.gardener.cloud/provider": "acme"}}),
				Old:   map[string][]byte{snapshot.OldKey(object): object.JSON},
			}
			got, err := seed.Leftovers{Old: compileAny(t, c.old), New: compileAny(t, c.new)}.Effects(t.Context(), s, object)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("effects, %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
