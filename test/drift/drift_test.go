// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

const (
	first = "testdata/first.yaml"
	next  = "testdata/next.yaml"
)

// result is what a run of graft ends with.
type result struct {
	status   int
	out, err string
}

// graft runs the command in this process.
func graft(t *testing.T, profile string, arguments ...string) result {
	t.Helper()
	var out, problems bytes.Buffer
	s := &app.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	status := app.Main("test", append([]string{"drift", "-p", profile, "--kubeconfig", land.Kubeconfig()}, arguments...), s)
	return result{status, out.String(), problems.String()}
}

// found has the states of objects, each with what became of its touch.
func (r result) found(t *testing.T) map[string]string {
	t.Helper()
	var read struct {
		Findings []struct{ Kind, Name, State, Touched string }
	}
	if err := json.Unmarshal([]byte(r.out), &read); err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.err)
	}
	states := map[string]string{}
	for _, f := range read.Findings {
		states[f.Kind+" "+f.Name] = strings.TrimSuffix(f.State+" "+f.Touched, " ")
	}
	return states
}

// expect runs graft drift and holds its status and what it has found.
func expect(t *testing.T, profile string, status int, want map[string]string, arguments ...string) {
	t.Helper()
	got := graft(t, profile, append(arguments, "-o", "json")...)
	states := got.found(t)
	if diff := cmp.Diff(want, states); diff != "" || got.status != status {
		t.Errorf("status %d, want %d; found (-want +got):\n%s%s", got.status, status, diff, got.err)
	}
}

// install puts a profile where the extension reads it.
func install(t *testing.T, profile string) {
	t.Helper()
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "profile.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// all are the objects that the profiles have rules for, each in a state.
func all(state string, more ...string) map[string]string {
	states := map[string]string{}
	for _, name := range append([]string{"ConfigMap cloud-config", "Deployment kube-apiserver", "Deployment kube-controller-manager"}, more...) {
		states[name] = state
	}
	return states
}

// nodes are the OperatingSystemConfigs.
func nodes(t *testing.T) []string {
	t.Helper()
	var names []string
	for name := range graft(t, first, "-o", "json").found(t) {
		if strings.HasPrefix(name, "OperatingSystemConfig ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestDrift is the life of a control plane, in the order in which it happens.
func TestDrift(t *testing.T) {
	install(t, first)
	osc := nodes(t)
	if len(osc) == 0 {
		t.Fatal("no OperatingSystemConfig has drifted, and none was ever mutated")
	}
	var stopped *process
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"before the webhook was there", func(t *testing.T) {
			expect(t, first, 1, all("unmutated", osc...))
			in := all("unmutated stays")
			for _, name := range osc {
				in[name] = "unmutated"
			}
			expect(t, first, 1, in, "--touch", "--yes", "--rate", "50", "--limit", "3", "-n", shoot)
		}},
		{"touched when it is there", func(t *testing.T) {
			stopped = start(t, land.Kubeconfig(), "")
			called(t, stopped)
			expect(t, first, 0, all("unmutated fixed", osc...), "--touch", "--yes", "--rate", "50")
			expect(t, first, 0, map[string]string{})
			stopped.stop()
		}},
		{"written while it was away", func(t *testing.T) {
			late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "cloud-late"}}
			must(t, land.Client().Create(t.Context(), late))
			louder := flags(t, "--v=3", "--v=9")
			expect(t, first, 1, map[string]string{"ConfigMap cloud-late": "unmutated", louder: "edited"})
		}},
		{"another profile", func(t *testing.T) {
			install(t, next)
			p := start(t, land.Kubeconfig(), "")
			called(t, p)
			missed := all("marked", osc...)
			missed["ConfigMap cloud-late"] = "unmutated"
			missed["Deployment kube-apiserver"], missed["Deployment kube-controller-manager"] = "outdated", "outdated"
			expect(t, next, 1, missed, "-n", shoot)
			got := graft(t, next)
			for _, want := range []string{"acme/cloud", "acme/zone", "the profiles change nothing", "2 outdated"} {
				if !strings.Contains(got.out, want) {
					t.Errorf("%q is not said:\n%s", want, got.out)
				}
			}
			if asked := graft(t, next, "--touch"); asked.status != 2 || !strings.Contains(asked.err, "give --yes") {
				t.Errorf("status %d without a question: %s", asked.status, asked.err)
			}
			if fixed := graft(t, next, "--touch", "--yes", "--rate", "50"); fixed.status != 0 || !strings.Contains(fixed.out, "Touched, fixed: 3.") {
				t.Errorf("status %d: %s%s", fixed.status, fixed.out, fixed.err)
			}
			deployment := &appsv1.Deployment{}
			must(t, land.Client().Get(t.Context(), client.ObjectKey{Namespace: shoot, Name: "kube-apiserver"}, deployment))
			if a := deployment.Annotations; a["acme.example.com/zone"] != "a" || a["acme.example.com/tier"] != "" {
				t.Errorf("kube-apiserver has %v", a)
			}
			p.stop()
		}},
		{"by the extension itself", byItself},
		{"what was written", written},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}

// called waits until the API server calls the webhook with the active profile.
func called(t *testing.T, p *process) {
	t.Helper()
	p.eventually("the webhook is called", func() bool {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "cloud-probe"}}
		return land.Client().Create(t.Context(), probe, client.DryRunAll) == nil && probe.Annotations["acme.example.com/shoot"] != ""
	})
}

// flags replaces a flag of kube-controller-manager, and names the object.
func flags(t *testing.T, old, by string) string {
	t.Helper()
	deployment := &appsv1.Deployment{}
	must(t, land.Client().Get(t.Context(), client.ObjectKey{Namespace: shoot, Name: "kube-controller-manager"}, deployment))
	changed := false
	for i := range deployment.Spec.Template.Spec.Containers {
		c := &deployment.Spec.Template.Spec.Containers[i]
		for _, list := range [][]string{c.Command, c.Args} {
			if at := slices.Index(list, old); at >= 0 {
				list[at], changed = by, true
			}
		}
	}
	if !changed {
		t.Fatalf("kube-controller-manager has no flag %s", old)
	}
	must(t, land.Client().Update(t.Context(), deployment))
	return "Deployment kube-controller-manager"
}

// permitted is what the chart gives the extension where it looks for drift and touches what it finds.
func permitted(t *testing.T) string {
	t.Helper()
	rule := func(group, resource, verbs string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: strings.Fields(verbs), ResourceNames: names}
	}
	account, err := land.CreateServiceAccount(t.Context(), landscape.ServiceAccountOptions{
		Namespace: extension, Name: "graft",
		ClusterRules: []rbacv1.PolicyRule{
			rule("extensions.gardener.cloud", "clusters", "get list watch"), rule("", "namespaces", "get list watch"),
			rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "create list watch"),
			rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "get update delete", "gardener-extension-provider-graft."+extension, "gardener-extension-provider-graft"),
			rule("apps", "deployments", "get patch", "kube-apiserver", "kube-controller-manager"),
			rule("extensions.gardener.cloud", "operatingsystemconfigs", "list patch"), rule("", "configmaps", "list patch"),
		},
		Rules: map[string][]rbacv1.PolicyRule{extension: {
			rule("", "secrets", "get list watch create update patch delete"), rule("", "configmaps", "get list watch create update patch delete"),
			rule("coordination.k8s.io", "leases", "get create update patch"), rule("", "events", "create patch"),
		}},
	})
	must(t, err)
	return account.Kubeconfig
}

// byItself has the extension find what was written while it was away: first it only counts, then it touches, with no more permissions than the chart gives.
func byItself(t *testing.T) {
	kubeconfig := permitted(t)
	later := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: shoot, Name: "cloud-later"}}
	must(t, land.Client().Create(t.Context(), later))
	flags(t, "--v=4", "--v=9")
	const (
		missed = `graft_drifted_objects{set="controlplane",state="unmutated",target="ConfigMap/cloud-*"}`
		edited = `graft_drifted_objects{set="controlplane",state="edited",target="kube-controller-manager"}`
		fixed  = `graft_drift_touched_total{outcome="fixed"}`
	)
	counting := start(t, kubeconfig, "drift: {enabled: true}\n")
	counting.eventually("it is counted", func() bool { return counting.metric(missed) == "1" && counting.metric(edited) == "1" })
	if touched := counting.metric(fixed); touched != "0" {
		t.Errorf("nobody wanted touches, and there were %s", touched)
	}
	if unread := counting.metric("graft_drift_unread_namespaces"); unread != "0" {
		t.Errorf("%s namespaces could not be read:\n%s", unread, counting.Log)
	}
	counting.stop()
	touching := start(t, kubeconfig, "drift: {enabled: true, touch: true, ratePerSecond: 50}\n")
	touching.eventually("it is touched", func() bool { return touching.metric(fixed) == "2" })
	for name, state := range graft(t, next, "-o", "json").found(t) {
		if state != "marked" {
			t.Errorf("%s is still %s", name, state)
		}
	}
	touching.stop()
}

// written holds by the audit log that graft has sent patches without content, and nothing else that writes.
func written(t *testing.T) {
	log, err := os.ReadFile(audit)
	must(t, err)
	patches := 0
	for line := range bytes.Lines(log) {
		var event struct{ UserAgent, Verb, RequestURI string }
		must(t, json.Unmarshal(line, &event))
		if event.UserAgent != "graft" {
			continue
		}
		if patches++; event.Verb != "patch" || !strings.HasSuffix(event.RequestURI, "?fieldManager=graft-drift") {
			t.Errorf("graft has written: %s %s", event.Verb, event.RequestURI)
		}
	}
	if patches == 0 {
		t.Error("the audit log has no request of graft")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
