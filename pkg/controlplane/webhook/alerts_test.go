// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// exported are the labels of every metric, by the names under which Prometheus knows it.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	// What has labels is exported once it was counted.
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

var (
	metricName = regexp.MustCompile(`graft_[a-z_]+`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	selector   = regexp.MustCompile(`([a-z]+)(=~?|!=)"([^"]*)"`)
	mention    = regexp.MustCompile(`\$labels\.([a-z]+)`)
	duration   = regexp.MustCompile(`^[0-9]+[smh]$`)
)

// alert is an alerting rule.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// TestAlerts holds that the alerts of the chart ask for metrics, labels and values that there are.
func TestAlerts(t *testing.T) {
	raw, err := os.ReadFile("../../../charts/gardener-extension-provider-graft/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		t.Fatal(err)
	}
	labels, asked := exported(t), map[string]bool{}
	for _, group := range file.Groups {
		for _, a := range group.Rules {
			names := metricName.FindAllString(a.Expr, -1)
			if len(names) != 1 || labels[names[0]] == nil {
				t.Errorf("%s asks for %v, not for one metric that there is", a.Alert, names)
				continue
			}
			asked[names[0]] = true
			a.check(t, labels[names[0]])
		}
	}
	for _, name := range []string{"graft_opted_out_namespaces", "graft_profile_reload_failed", "graft_admissions_total", "graft_admission_failures_total"} {
		if !asked[name] {
			t.Errorf("no alert asks for %s", name)
		}
	}
}

// check holds an alert against the labels of its metric.
func (a alert) check(t *testing.T, known []string) {
	t.Helper()
	if !duration.MatchString(a.For) || a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
		t.Errorf("%s lacks for, summary, description or severity", a.Alert)
	}
	var told []string // by the outermost grouping
	for i, by := range grouping.FindAllStringSubmatch(a.Expr, -1) {
		list := strings.Split(by[1], ", ")
		if i == 0 {
			told = list
		}
		for _, label := range list {
			if !slices.Contains(known, label) {
				t.Errorf("%s groups by %s, which is no label of its metric", a.Alert, label)
			}
		}
	}
	for _, match := range selector.FindAllStringSubmatch(a.Expr, -1) {
		if !slices.Contains(known, match[1]) || match[3] != "denied" {
			t.Errorf("%s selects %s, which its metric does not have", a.Alert, match[0])
		}
	}
	for _, text := range a.Annotations {
		for _, match := range mention.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(told, match[1]) {
				t.Errorf("%s tells the label %s, by which it does not group", a.Alert, match[1])
			}
		}
	}
}

// TestMetricsAreDocumented holds that the table in the documentation has the metrics that there are.
func TestMetricsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/usage/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exported(t) {
		if !strings.Contains(string(raw), "| `"+name) {
			t.Errorf("docs/usage/installation.md has no row for %s", name)
		}
	}
}
