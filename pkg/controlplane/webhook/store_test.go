// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// program serves controlplane for the providers of its documents.
type program []*profile.Document

func (p program) Registrations() []mutation.Registration {
	var out []mutation.Registration
	for _, document := range p {
		for _, provider := range document.Providers {
			out = append(out, mutation.Registration{Set: target.ControlPlane, Provider: provider})
		}
	}
	return out
}

func (program) Profiles() []mutation.ProfileVersion { return nil }

// Permissions is one of each profile that has the parameter reads, which is the name of a Secret.
func (p program) Permissions() []mutation.Permission {
	var reads []mutation.Permission
	for _, document := range p {
		if name, ok := document.Parameters["reads"]; ok {
			reads = append(reads, mutation.Permission{
				Profile: document.Metadata.Name, Lookup: "x", Position: name.Position(), Resource: "secrets", Name: name.Value,
			})
		}
	}
	return reads
}

func (p program) Admit(context.Context, mutation.Request) (*mutation.Result, error) {
	return &mutation.Result{Target: p[0].Metadata.Name}, nil
}

// compile rejects profiles with refuse: true among the parameters, with a finding.
func compile(documents []*profile.Document) (Mutator, error) {
	for _, document := range documents {
		if refuse, ok := document.Parameters["refuse"]; ok && refuse.Value == "true" {
			return nil, source.Findings{refuse.Finding("parameters.refuse", "is true")}
		}
	}
	return program(documents), nil
}

func text2profile(name, provider, refuse string) string {
	return `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: ` + name + `}
providers: [` + provider + `]
parameters: {refuse: ` + refuse + `}
controlplane: {kube-apiserver: [{flags: {remove: [cloud-provider]}}]}
`
}

// reader is files that a test changes, or an error.
type reader struct {
	files []source.File
	err   error
}

func (r *reader) Read(context.Context) ([]source.File, error) { return r.files, r.err }

func (r *reader) set(text string) { r.files = []source.File{{Name: "p.yaml", Data: []byte(text)}} }

func TestStore(t *testing.T) {
	ctx := context.Background()
	f := &fixture{registry: prometheus.NewRegistry()}
	log := funcr.New(func(_, args string) { f.log.WriteString(args + "\n") }, funcr.Options{})
	store := NewStore(compile, nil, NewMetrics(f.registry), log)
	changes := store.NotifyChanges()
	openstack, aws := Route{Set: target.ControlPlane, Provider: "openstack"}, Route{Set: target.ControlPlane, Provider: "aws"}
	counted := func(t *testing.T, successes, failures, failed float64) {
		t.Helper()
		got := []float64{
			f.count(t, "graft_profile_reloads_total", map[string]string{"result": "success"}),
			f.count(t, "graft_profile_reloads_total", map[string]string{"result": "failure"}),
			f.count(t, "graft_profile_reload_failed", nil),
		}
		if diff := cmp.Diff([]float64{successes, failures, failed}, got); diff != "" {
			t.Errorf("successes, failures, failed:\n%s", diff)
		}
	}
	notified := func() bool {
		select {
		case <-changes:
			return true
		default:
			return false
		}
	}

	var failure *mutation.Failure
	if _, err := store.Admit(ctx, mutation.Request{}); store.Loaded() || store.Serves(openstack) || !errors.As(err, &failure) || failure.Reason != mutation.NotLoaded {
		t.Fatalf("an empty store serves, or fails with %v", err)
	}
	files := &reader{}
	files.set(text2profile("one", "openstack", "true"))
	var findings source.Findings
	if err := store.Load(ctx, files); !errors.As(err, &findings) || !store.Loaded() || !notified() {
		t.Fatalf("want findings and a loaded store with an invalid profile, got %v", err)
	}
	_, err := store.Admit(ctx, mutation.Request{Set: openstack.Set, Provider: openstack.Provider})
	if !errors.As(err, &failure) || failure.Reason != mutation.ProfileInvalid || !strings.Contains(failure.Message, "p.yaml:5:22: parameters.refuse: is true") {
		t.Errorf("the objects of a wrong profile are admitted, or denied without its finding: %v", err)
	}
	counted(t, 0, 1, 1)

	files.set(text2profile("one", "openstack", "false"))
	if err := store.Load(ctx, files); err != nil || !store.Serves(openstack) || !notified() {
		t.Fatalf("a valid profile is not loaded: %v", err)
	}
	counted(t, 1, 1, 0)
	if got := f.count(t, "graft_profile_info", map[string]string{"profile": "one"}); got != 1 {
		t.Errorf("graft_profile_info is %v", got)
	}
	if err := store.Load(ctx, files); err != nil || notified() {
		t.Errorf("the same bytes are loaded twice: %v", err)
	}
	counted(t, 1, 1, 0)

	for range 3 {
		files.set(text2profile("two", "aws", "true"))
		if err := store.Load(ctx, files); !errors.As(err, &findings) {
			t.Fatalf("want findings, got %v", err)
		}
	}
	if store.Serves(aws) || !store.Serves(openstack) {
		t.Error("an invalid profile replaced the active one")
	}
	if got := strings.Count(f.log.String(), "p.yaml:5:22: parameters.refuse: is true"); got != 4 {
		t.Errorf("the finding stands %d times in the log, want for each failure once as error and once in the list: %s", got, f.log.String())
	}
	counted(t, 1, 2, 1)

	files.err = errors.New("gone")
	if err := store.Load(ctx, files); !errors.Is(err, files.err) || !store.Serves(openstack) {
		t.Errorf("a reader's error: %v", err)
	}
	files.err = nil
	files.set(text2profile("two", "aws", "false"))
	if err := store.Load(ctx, files); err != nil || !store.Serves(aws) || store.Serves(openstack) || !notified() {
		t.Errorf("the fixed profile is not loaded: %v", err)
	}
	counted(t, 2, 3, 0)

	files.err = errors.New("gone again")
	_ = store.Load(ctx, files)
	counted(t, 2, 4, 1)
	files.err = nil
	if err := store.Load(ctx, files); err != nil {
		t.Error(err)
	}
	counted(t, 2, 4, 0)
}

// TestStoreWithoutProfiles starts empty, and does not become so again.
func TestStoreWithoutProfiles(t *testing.T) {
	ctx := context.Background()
	f := &fixture{registry: prometheus.NewRegistry()}
	log := funcr.New(func(_, args string) { f.log.WriteString(args + "\n") }, funcr.Options{})
	store := NewStore(compile, nil, NewMetrics(f.registry), log)
	failed := func() [2]float64 {
		return [2]float64{
			f.count(t, "graft_profile_reloads_total", map[string]string{"result": "failure"}), f.count(t, "graft_profile_reload_failed", nil),
		}
	}
	files, route := &reader{}, Route{Set: target.ControlPlane, Provider: "openstack"}
	if err := store.Load(ctx, files); err != nil || !store.Loaded() || len(store.Registrations()) != 0 {
		t.Fatalf("an empty start: %v, %v", err, store.Registrations())
	}
	text := text2profile("one", "openstack", "false")
	files.set(text)
	if err := store.Load(ctx, files); err != nil || !store.Serves(route) {
		t.Fatalf("the first profile is not loaded: %v", err)
	}
	for failures := range 2 {
		files.files = nil
		for range 3 {
			if err := store.Load(ctx, files); !errors.Is(err, errNoneLeft) || !store.Serves(route) || len(store.Registrations()) != 1 {
				t.Errorf("the last profile vanishes: %v, %v", err, store.Registrations())
			}
		}
		if got := failed(); got != [2]float64{float64(failures + 1), 1} {
			t.Errorf("failures, failed are %v", got)
		}
		files.set(text)
		if err := store.Load(ctx, files); err != nil || failed()[1] != 0 {
			t.Errorf("the profile is back: %v, %v", err, failed())
		}
	}
	if got := f.log.String(); !strings.Contains(got, "no profiles are left; the previous ones stay active") {
		t.Errorf("the log is %s", got)
	}
}

// TestProfilesOfRemovedInstallation checks that profiles which are deleted with the installation are no failure.
func TestProfilesOfRemovedInstallation(t *testing.T) {
	f, removed := &fixture{registry: prometheus.NewRegistry()}, false
	store := NewStore(compile, nil, NewMetrics(f.registry), funcr.New(func(_, args string) { f.log.WriteString(args + "\n") }, funcr.Options{}))
	store.Uninstalling = func(context.Context) bool { return removed }
	files, route := &reader{}, Route{Set: target.ControlPlane, Provider: "openstack"}
	files.set(text2profile("one", "openstack", "false"))
	if err := store.Load(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	removed, files.files = true, nil
	for range 3 {
		if err := store.Load(t.Context(), files); !errors.Is(err, errNoneLeft) || !store.Serves(route) {
			t.Errorf("the active profiles have changed: %v", err)
		}
	}
	if got := f.count(t, "graft_profile_reloads_total", map[string]string{"result": "failure"}); got != 0 {
		t.Errorf("%v failures are counted", got)
	}
	got := f.log.String()
	if strings.Contains(got, "Profiles are invalid") || strings.Count(got, "The installation is being removed with its profiles") != 1 {
		t.Errorf("the log is %s", got)
	}
}

// TestCountersOfRemovedRulesAreDeleted checks that a change of the profiles deletes the counters of rules.
func TestCountersOfRemovedRulesAreDeleted(t *testing.T) {
	f := &fixture{registry: prometheus.NewRegistry()}
	metrics := NewMetrics(f.registry)
	store := NewStore(func(documents []*profile.Document) (Mutator, error) { return program(documents), nil }, nil, metrics, logr.Discard())
	files := &reader{}
	load := func(name string) {
		t.Helper()
		files.set(text2profile(name, "a", "false"))
		if err := store.Load(t.Context(), files); err != nil {
			t.Fatal(err)
		}
	}
	count := func(name string) {
		x := &exchange{route: Route{Set: target.ControlPlane, Provider: "a"}}
		metrics.rules(x, &mutation.Result{Target: "kube-apiserver", Applied: []mutation.Applied{{Profile: name, Rule: name, Outcome: mutation.Changed}}})
	}
	load("one")
	count("one")
	if got := f.count(t, "graft_rules_total", map[string]string{"rule": "one"}); got != 1 {
		t.Errorf("the rule was counted %v times", got)
	}
	load("two")
	count("two")
	one, two := f.count(t, "graft_rules_total", map[string]string{"rule": "one"}), f.count(t, "graft_rules_total", map[string]string{"rule": "two"})
	if one != 0 || two != 1 {
		t.Errorf("the removed rule has the counter %v, want 0; the remaining rule %v, want 1", one, two)
	}
}
