// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// exported returns the labels of every metric, by its name in Prometheus.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	// Metrics with labels are exported after their first count.
	x := &exchange{route: Route{Set: target.ControlPlane, Provider: "a"}, started: time.Now()}
	m.admission(x, "kube-apiserver", "denied")
	m.failure(x, mutation.Internal)
	m.patched(x, "kube-apiserver", 1)
	m.rules(x, &mutation.Result{Applied: []mutation.Applied{{}}})
	m.info.WithLabelValues("acme", "0123").Set(1)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, family := range families {
		names := []string{}
		for _, pair := range family.GetMetric()[0].GetLabel() {
			names = append(names, pair.GetName())
		}
		labels[family.GetName()] = names
	}
	return labels
}

// TestMetricsAreDocumented compares the metrics and their labels with the list of the reference.
func TestMetricsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, labels := range exported(t) {
		start := "`" + name + "`"
		if len(labels) > 0 {
			start = "`" + name + "{"
		}
		at := strings.Index(text, start)
		if at < 0 {
			t.Errorf("docs/reference/metrics.md has no %s", start)
			continue
		}
		line, _, _ := strings.Cut(text[at:], "\n")
		for _, label := range labels {
			if !strings.Contains(line, label) {
				t.Errorf("docs/reference/metrics.md: %s lacks the label %s", start, label)
			}
		}
	}
}

// TestObservedRulesAreCounted checks that an observed rule counts as observed if it would change the object.
func TestObservedRulesAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, x := NewMetrics(registry), &exchange{route: Route{Set: target.ControlPlane, Provider: "a"}}
	for want, applied := range map[string]mutation.Applied{
		"changed": {Outcome: mutation.Changed}, "skipped": {Outcome: mutation.Skipped},
		"observed":  {Outcome: mutation.Observed, Would: mutation.Changed},
		"unchanged": {Outcome: mutation.Observed, Would: mutation.Unchanged}, "overridden": {Outcome: mutation.Observed, Would: mutation.Overridden},
		"denied": {Outcome: mutation.Observed, Would: mutation.Denied},
	} {
		applied.Profile, applied.Rule = "p", want
		m.rules(x, &mutation.Result{Target: "etcd-main", Applied: []mutation.Applied{applied}})
	}
	f := &fixture{registry: registry}
	for _, result := range []string{"changed", "skipped", "observed", "unchanged", "overridden", "denied"} {
		if got := f.count(t, "graft_rules_total", map[string]string{"rule": result, "result": result}); got != 1 {
			t.Errorf("%s is counted %v times", result, got)
		}
	}
}
