// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v2"
)

// A case is the expected result of one alert for its series.
type alertCase struct {
	Alert string
	// Series are values by series, one a minute, as `promtool test rules` writes them.
	Series map[string]string
	// Silent is a time at which the alert does not fire; without one it fires nowhere until Fires.
	Silent model.Duration
	// Fires is a time at which the alert fires; absent in cases without a firing.
	Fires model.Duration
	// Labels are the labels of each firing alert, in addition to those of the rule.
	Labels []map[string]string
	// Says is a part of the description of the first.
	Says string
}

// step is the time between two samples and between two evaluations, as in Gardener's Prometheus.
const step = time.Minute

// TestAlerts checks for each alert that it fires, and that it does not fire.
func TestAlerts(t *testing.T) {
	for _, chart := range charts(t) {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", filepath.Base(chart)+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var cases []alertCase
			if err := yaml.UnmarshalStrict(raw, &cases); err != nil {
				t.Fatal(err)
			}
			fired, silent := map[string]bool{}, map[string]bool{}
			for i, c := range cases {
				t.Run(fmt.Sprintf("%s/%d", c.Alert, i), func(t *testing.T) { c.run(t, filepath.Join(chart, "alerts.yaml")) })
				fired[c.Alert] = fired[c.Alert] || c.Fires > 0
				silent[c.Alert] = silent[c.Alert] || c.Silent > 0
			}
			for where := range expressions(t, chart) {
				if name, ok := strings.CutPrefix(where, "the alert "); ok && !(fired[name] && silent[name]) {
					t.Errorf("%s: want a case in which it fires and one in which it does not", name)
				}
			}
		})
	}
}

// run evaluates the rules of the file minute by minute.
func (c alertCase) run(t *testing.T, file string) {
	load := "load 1m\n"
	for series, values := range c.Series {
		load += "  " + series + " " + values + "\n"
	}
	loader, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := loader.Close(); err != nil {
			t.Error(err)
		}
	}()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()), Appendable: loader.Storage(), Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: promslog.NewNopLogger(),
	})
	groups, problems := manager.LoadGroups(step, labels.EmptyLabels(), "", nil, false, file)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	alert := find(t, groups, c.Alert)
	start := time.Unix(0, 0).UTC()
	for at := time.Duration(0); at <= max(time.Duration(c.Silent), time.Duration(c.Fires)); at += step {
		loader.WithSamplesTill(start.Add(at), func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range groups {
				group.Eval(loader.Context(), start.Add(at))
			}
		})
		if err := alert.LastError(); err != nil {
			t.Fatalf("after %s: %v", at, err)
		}
		firing := firing(alert)
		if at == time.Duration(c.Silent) && at > 0 && len(firing) > 0 {
			t.Errorf("it fires after %s: %v", at, firing[0].Labels)
		}
		if at == time.Duration(c.Fires) && at > 0 {
			c.check(t, alert, firing)
		}
	}
}

func find(t *testing.T, groups map[string]*rules.Group, name string) *rules.AlertingRule {
	t.Helper()
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if alert, ok := rule.(*rules.AlertingRule); ok {
				alert.SetRestored(true) // there is nothing from before
				if alert.Name() == name {
					return alert
				}
			}
		}
	}
	t.Fatalf("there is no alert %s", name)
	return nil
}

func firing(rule *rules.AlertingRule) []*rules.Alert {
	alerts := rule.ActiveAlerts()
	alerts = slices.DeleteFunc(alerts, func(a *rules.Alert) bool { return a.State != rules.StateFiring })
	slices.SortFunc(alerts, func(a, b *rules.Alert) int { return labels.Compare(a.Labels, b.Labels) })
	return alerts
}

// check compares the firing alerts with the expected ones, and checks that their texts are complete.
func (c alertCase) check(t *testing.T, rule *rules.AlertingRule, alerts []*rules.Alert) {
	t.Helper()
	var got []map[string]string
	for _, alert := range alerts {
		beside := alert.Labels.Map()
		for name := range rule.Labels().Map() {
			delete(beside, name)
		}
		delete(beside, labels.AlertName)
		got = append(got, beside)
		text := alert.Annotations.Get("description")
		if alert.Annotations.Get("summary") == "" || text == "" || strings.Contains(text, "{{") || strings.Contains(text, "<no value>") ||
			strings.Contains(text, "<error") || strings.Contains(text, "()") || strings.Contains(text, "  ") {
			t.Errorf("invalid annotation text: %q", text)
		}
	}
	if diff := cmp.Diff(c.Labels, got); diff != "" {
		t.Fatalf("after %s (-want +got)\n%s", time.Duration(c.Fires), diff)
	}
	if text := alerts[0].Annotations.Get("description"); !strings.Contains(text, c.Says) || c.Says == "" {
		t.Errorf("the description is %q, want %q in it", text, c.Says)
	}
	severity := rule.Labels().Get("severity")
	if !slices.Contains([]string{"info", "warning", "critical"}, severity) || rule.Labels().Get("service") == "" || rule.HoldDuration() == 0 {
		t.Errorf("the labels are %s, and it waits for %s", rule.Labels(), rule.HoldDuration())
	}
}
