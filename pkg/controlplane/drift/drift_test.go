// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

const (
	silver = `controlplane: {objects: [{apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [{name: tier, annotations: {set: {tier: silver}}}]}]}`
	gold   = `controlplane: {objects: [{apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [{name: tier, annotations: {set: {tier: gold}}}]}]}`
	// both writes one more, and silver's again.
	both = `controlplane: {objects: [{apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [
{name: tier, annotations: {set: {tier: silver}}}, {name: more, annotations: {set: {more: "yes"}}}]}]}`
	// known reads a fact of the shoot, and contracted changes a container of an object.
	known      = `controlplane: {objects: [{apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [{name: tier, annotations: {set: {shoot: "${ shoot.name }"}}}]}]}`
	contracted = `controlplane: {kube-apiserver: [{name: tier, labels: {set: {tier: silver}}}]}`
	// same writes the same as silver, under another name.
	same = `controlplane: {objects: [{apiVersion: v1, kind: ConfigMap, name: cloud-*, rules: [{name: level, annotations: {set: {tier: silver}}}]}]}`
)

// TestStates checks the states of objects, and that a touch fixes those with something to do.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name string
		// was is the profile that mutated the object, and is the profile of the search.
		was, is string
		// later changes the object without the webhook.
		later func(s *seed)
		want  []string
		after []string
	}{
		{name: "an object that equals the profile's result", was: silver, is: silver},
		{name: "created without the webhook", is: silver, want: []string{"unmutated shoot/cloud-a [acme/tier] "}},
		{name: "an object that an older profile mutated", was: silver, is: gold, want: []string{"outdated shoot/cloud-a [acme/tier] "}},
		{name: "one more rule", was: silver, is: both, want: []string{"outdated shoot/cloud-a [acme/more] "}},
		{name: "a rule was removed", was: both, is: silver, want: []string{"outdated shoot/cloud-a [] "}},
		{
			name: "another version with the same result", was: silver, is: same,
			want: []string{"marked shoot/cloud-a [] "}, after: []string{"marked shoot/cloud-a [] "},
		},
		{
			name: "written without the webhook", was: silver, is: silver, want: []string{"edited shoot/cloud-a [acme/tier] "},
			later: func(s *seed) {
				path := "/api/v1/namespaces/shoot/configmaps/cloud-a"
				s.put(path, strings.Replace(s.objects[path], "silver", "tin", 1))
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeed(t)
			s.shoot("shoot", "")
			s.configMap("shoot", "cloud-a", "")
			s.configMap("shoot", "other", "")
			if c.was != "" {
				if err := s.admit(compile(t, c.was), "/api/v1/namespaces/shoot/configmaps/cloud-a"); err != nil {
					t.Fatal(err)
				}
			}
			if c.later != nil {
				c.later(s)
			}
			e := compile(t, c.is)
			got, summary, err := s.find(e)
			if diff := cmp.Diff(append([]string{}, c.want...), got); diff != "" || err != nil || summary.Objects != 1 || summary.ControlPlanes != 1 {
				t.Errorf("%+v %v (-want +got):\n%s", summary, err, diff)
			}
			s.webhook = e
			touch := &drift.Toucher{API: s, Engine: e, Limiter: rate.NewLimiter(rate.Inf, 0)}
			o := drift.ObjectRef{Set: target.ControlPlane, Provider: "acme", Namespace: "shoot", Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "cloud-a"}
			if outcome, err := touch.Touch(t.Context(), o); outcome != drift.Fixed || err != nil {
				t.Errorf("touched: %s, %v", outcome, err)
			}
			if got, _, _ = s.find(e); !cmp.Equal(append([]string{}, c.after...), got) {
				t.Errorf("unexpected findings after the touch: %v", got)
			}
			want := []string{"touch /api/v1/namespaces/shoot/configmaps/cloud-a"}
			if diff := cmp.Diff(want, s.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTouchesWithoutFix checks the outcomes of touches that the webhook does not fix.
func TestTouchesWithoutFix(t *testing.T) {
	e := compile(t, silver)
	for _, c := range []struct {
		name    string
		prepare func(s *seed)
		want    drift.TouchResult
		problem string
	}{
		{"keeps everything without a webhook", func(*seed) {}, drift.Stays, ""},
		{"other profiles in the webhook", func(s *seed) { s.webhook = compile(t, gold) }, drift.Stays, ""},
		{"the object is deleted", func(s *seed) { delete(s.objects, "/api/v1/namespaces/shoot/configmaps/cloud-a") }, drift.Gone, ""},
		{"the touch is refused", func(s *seed) {
			s.fail = func(c call) error {
				if c.touch {
					return answer(http.StatusForbidden)
				}
				return nil
			}
		}, drift.Failed, "touching ConfigMap cloud-a of shoot: status 403"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeed(t)
			s.configMap("shoot", "cloud-a", "")
			c.prepare(s)
			touch := &drift.Toucher{API: s, Engine: e, Limiter: rate.NewLimiter(rate.Inf, 0)}
			o := drift.ObjectRef{Set: target.ControlPlane, Provider: "acme", Namespace: "shoot", Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "cloud-a"}
			outcome, err := touch.Touch(t.Context(), o)
			if outcome != c.want || (err == nil) != (c.problem == "") || err != nil && err.Error() != c.problem {
				t.Errorf("%s, %v", outcome, err)
			}
		})
	}
}

// TestSummary checks that namespaces with webhooks are searched, that opted-out ones are skipped, and that an
// unreadable one does not stop the search.
func TestSummary(t *testing.T) {
	s := newSeed(t)
	for _, name := range []string{"shoot-a", "shoot-b", "shoot-c"} {
		s.shoot(name, "")
		s.configMap(name, "cloud-a", "")
	}
	s.shoot("shoot-d", `"graft.provider.extensions.gardener.cloud/opt-out":"tonight"`)
	s.configMap("shoot-d", "cloud-a", "")
	s.put("/api/v1/namespaces/shoot-a/configmaps/cloud-b", `{"metadata":{"name":"cloud-b","deletionTimestamp":"2026-01-01T00:00:00Z"}}`)
	s.fail = func(c call) error {
		if strings.Contains(c.path, "shoot-b/") {
			return answer(http.StatusForbidden)
		}
		return nil
	}
	got, summary, err := s.find(compile(t, silver))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"unmutated shoot-a/cloud-a [acme/tier] ", "unmutated shoot-c/cloud-a [acme/tier] "}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	want := drift.Summary{
		ControlPlanes: 2, Objects: 3, OptedOut: []string{"shoot-d"}, Unread: []drift.UnreadNamespace{{Namespace: "shoot-b", Problem: "reading configmaps: status 403"}},
		Found: map[drift.State]int{drift.Unmutated: 2},
	}
	if diff := cmp.Diff(want, summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if summary.Drifted() != 2 {
		t.Errorf("%d have drifted", summary.Drifted())
	}
}

// TestProblems checks the report about objects that the profiles deny or cannot evaluate.
func TestProblems(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	s.configMap("shoot", "cloud-a", "")
	s.put("/apis/apps/v1/namespaces/shoot/deployments/kube-apiserver", `{"metadata":{"name":"kube-apiserver"},"spec":{"template":{"spec":{"containers":[]}}}}`)
	for rules, want := range map[string][]string{
		known: {"unknown shoot/cloud-a [] ClusterMissing: reading the facts of namespace shoot: reading facts of the namespace shoot: " + facts.ErrNotFound.Error()},
		contracted: {"denied shoot/kube-apiserver [] ContainerMissing: the object breaks the contract: container missing: " +
			`the pod template of Deployment kube-apiserver has no container named "kube-apiserver"`},
	} {
		got, summary, err := s.find(compile(t, rules))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || summary.Drifted() != 0 || summary.Objects != 1 {
			t.Errorf("%+v %v (-want +got):\n%s", summary, err, diff)
		}
	}
}

// TestSearchOfOneNamespace checks the search of one namespace, and the error if no profile applies to it.
func TestSearchOfOneNamespace(t *testing.T) {
	s := newSeed(t)
	for _, name := range []string{"shoot-a", "shoot-b"} {
		s.shoot(name, "")
		s.configMap(name, "cloud-a", "")
	}
	s.put("/api/v1/namespaces/other", `{"metadata":{"name":"other"}}`)
	for name, want := range map[string]struct {
		summary drift.Summary
		problem string
	}{
		"shoot-b": {summary: drift.Summary{ControlPlanes: 1, Objects: 1, Found: map[drift.State]int{drift.Unmutated: 1}}},
		"other": {summary: drift.Summary{Found: map[drift.State]int{}, Unread: []drift.UnreadNamespace{
			{Namespace: "other", Problem: "the profiles have no webhook for it: its labels name other providers, or none"},
		}}},
		"none": {summary: drift.Summary{Found: map[drift.State]int{}}, problem: "reading the Namespace none: status 404"},
	} {
		f := drift.Finder{API: s, Engine: compile(t, silver), Namespace: name}
		summary, err := f.Find(t.Context(), func(drift.Finding) error { return nil })
		if diff := cmp.Diff(want.summary, summary); diff != "" || (err == nil) != (want.problem == "") || err != nil && err.Error() != want.problem {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestListsAreReadInPages checks that lists are read in small pages, and restarted without duplicates when the API server has dropped
// the rest.
func TestListsAreReadInPages(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	for i := range 120 {
		s.configMap("shoot", fmt.Sprintf("cloud-%03d", i), "")
	}
	forgotten := 2
	s.fail = func(c call) error {
		if strings.Contains(c.query.Get("continue"), "cloud-04") && forgotten > 0 {
			forgotten--
			return answer(http.StatusGone)
		}
		return nil
	}
	got, summary, err := s.find(compile(t, silver))
	if err != nil || len(got) != 120 || summary.Objects != 120 || len(summary.Unread) > 0 || forgotten > 0 {
		t.Errorf("%d found, %+v, %v", len(got), summary, err)
	}
	if s.largest > 500 {
		t.Errorf("a page of %d objects was requested, want at most 500", s.largest)
	}
	stopped := errors.New("enough")
	f := drift.Finder{API: s, Engine: compile(t, silver)}
	if _, err := f.Find(t.Context(), func(drift.Finding) error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("want the error of the callback, got %v", err)
	}
}

// TestRate checks the minimum time between two touches.
func TestRate(t *testing.T) {
	s, e := newSeed(t), compile(t, silver)
	s.configMap("shoot", "cloud-a", "")
	s.webhook = e
	o := drift.ObjectRef{Set: target.ControlPlane, Provider: "acme", Namespace: "shoot", Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "cloud-a"}
	synctest.Test(t, func(t *testing.T) {
		touch := &drift.Toucher{API: s, Engine: e, Limiter: rate.NewLimiter(rate.Every(2*time.Second), 1)}
		began := time.Now()
		for i := range 6 {
			if _, err := touch.Touch(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if passed := time.Since(began); passed != time.Duration(i)*2*time.Second {
				t.Fatalf("%d touches in %s", i+1, passed)
			}
		}
	})
}

// TestPermissions checks that exactly the permissions for objects with rules are requested.
func TestPermissions(t *testing.T) {
	got := []string{}
	rules := gold + "\ncontrolplaneexposure: {kube-apiserver: [{labels: {set: {a: b}}}], kube-scheduler: [{labels: {set: {a: b}}}]}"
	for _, p := range drift.Permissions(compile(t, rules).Registrations()) {
		got = append(got, fmt.Sprintf("%s/%s %v", p.Group, p.Resource, p.Names))
	}
	want := []string{"/configmaps []", "apps/deployments [kube-apiserver kube-scheduler]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
