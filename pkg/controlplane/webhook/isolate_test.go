// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// compileTogether compiles like compile, and rejects two profiles for one provider with different values of the
// parameter.
func compileTogether(documents []*profile.Document) (Mutator, error) {
	values := map[string]source.Node{}
	for _, document := range documents {
		value, ok := document.Parameters["value"]
		if !ok {
			continue
		}
		if other, ok := values[document.Providers[0]]; ok && other.Value != value.Value {
			return nil, source.Findings{value.Finding("parameters.value", "is %s at %s", other.Value, other.Position())}
		}
		values[document.Providers[0]] = value
	}
	return compile(documents)
}

// valued is a profile called like its file with a value.
func valued(name, provider, value string) source.File {
	text := strings.Replace(text2profile(name, provider, "false"), "refuse: false", "refuse: false, value: "+value, 1)
	return source.File{Name: name, Data: []byte(text)}
}

// typo returns a file with a field that does not exist.
func typo(file source.File) source.File {
	return source.File{Name: file.Name, Data: []byte(strings.Replace(string(file.Data), "controlplane:", "controlplan:", 1))}
}

// TestIsolation loads files step by step, and checks the state of each and the values of the active profiles.
func TestIsolation(t *testing.T) {
	broken := source.File{Name: "a", Data: []byte(text2profile("a", "one", "false") + "controlplanebackup: [\n")}
	type step struct {
		files  []source.File
		states string
		inside []string // the active values
		denied []string // the providers that are denied
	}
	for name, steps := range map[string][]step{
		"a typo at the start": {
			{[]source.File{typo(valued("a", "one", "1")), valued("b", "two", "1")}, "a invalid, b valid", []string{"b=1"}, []string{"one"}},
			{[]source.File{valued("a", "one", "1"), valued("b", "two", "1")}, "a valid, b valid", []string{"a=1", "b=1"}, nil},
		},
		"no YAML at the start": {
			{[]source.File{broken, valued("b", "two", "1")}, "a invalid, b valid", []string{"b=1"}, []string{"one"}},
		},
		"a typo later": {
			{[]source.File{valued("a", "one", "1"), valued("b", "two", "1")}, "a valid, b valid", []string{"a=1", "b=1"}, nil},
			{[]source.File{typo(valued("a", "one", "2")), valued("b", "two", "2")}, "a last-good, b valid", []string{"a=1", "b=2"}, nil},
			{[]source.File{valued("b", "two", "2")}, "b valid", []string{"b=2"}, nil},
			{[]source.File{typo(valued("a", "one", "2")), valued("b", "two", "2")}, "a invalid, b valid", []string{"b=2"}, []string{"one"}},
		},
		"a file that cannot be read": {
			{[]source.File{valued("a", "one", "1"), valued("b", "two", "1")}, "a valid, b valid", []string{"a=1", "b=1"}, nil},
			{[]source.File{{Name: "a", Problem: "it is a pipe"}, valued("b", "two", "2")}, "a last-good, b valid", []string{"a=1", "b=2"}, nil},
		},
		"a contradiction at the start": {
			{[]source.File{valued("a", "one", "1"), valued("b", "one", "2"), valued("c", "two", "1")}, "a valid, b invalid, c valid", []string{"a=1", "c=1"}, nil},
		},
		"a new profile that contradicts": {
			{[]source.File{valued("b", "one", "1")}, "b valid", []string{"b=1"}, nil},
			{[]source.File{valued("a", "one", "2"), valued("b", "one", "1")}, "a invalid, b valid", []string{"b=1"}, nil},
			{[]source.File{valued("a", "one", "2"), valued("b", "one", "2")}, "a valid, b valid", []string{"a=2", "b=2"}, nil},
		},
		"an edit that contradicts": {
			{[]source.File{valued("a", "one", "1"), valued("b", "one", "1")}, "a valid, b valid", []string{"a=1", "b=1"}, nil},
			{[]source.File{valued("a", "one", "2"), valued("b", "one", "1")}, "a last-good, b valid", []string{"a=1", "b=1"}, nil},
		},
		"the last valid version contradicts a new profile": {
			{[]source.File{valued("a", "one", "1")}, "a valid", []string{"a=1"}, nil},
			{[]source.File{typo(valued("a", "one", "1")), valued("b", "one", "2")}, "a last-good, b invalid", []string{"a=1"}, nil},
		},
		"a profile moves to another file": {
			{[]source.File{valued("b", "one", "1")}, "b valid", []string{"b=1"}, nil},
			{[]source.File{{Name: "a", Data: valued("b", "one", "2").Data}, valued("b", "one", "1")}, "a invalid, b valid", []string{"b=1"}, nil},
			{[]source.File{{Name: "a", Data: valued("b", "one", "2").Data}}, "a valid", []string{"b=2"}, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewStore(compileTogether, nil, NewMetrics(prometheus.NewRegistry()), logr.Discard())
			for i, step := range steps {
				err := store.Load(t.Context(), &reader{files: step.files})
				if wrong := strings.Contains(step.states, "invalid") || strings.Contains(step.states, "last-good"); wrong != (err != nil) {
					t.Errorf("step %d: the error is %v", i, err)
				}
				if diff := cmp.Diff(step.states, states(store)); diff != "" {
					t.Errorf("step %d: states (-want +got):\n%s", i, diff)
				}
				if diff := cmp.Diff(step.inside, activeValues(store)); diff != "" {
					t.Errorf("step %d: active (-want +got):\n%s", i, diff)
				}
				for _, provider := range []string{"one", "two"} {
					holdDenied(t, store, provider, slices.Contains(step.denied, provider))
				}
			}
		})
	}
}

func states(s *Store) string {
	var all []string
	for _, status := range s.Statuses() {
		all = append(all, status.Source+" "+string(status.State))
	}
	return strings.Join(all, ", ")
}

func activeValues(s *Store) []string {
	var all []string
	for _, document := range s.current.Load().program.(program) {
		all = append(all, document.Metadata.Name+"="+document.Parameters["value"].Value)
	}
	slices.Sort(all)
	return all
}

// holdDenied checks whether objects of a provider are denied with the finding, by Admit and for the gate.
func holdDenied(t *testing.T, s *Store, provider string, want bool) {
	t.Helper()
	route := Route{Set: target.ControlPlane, Provider: provider}
	registered := slices.ContainsFunc(s.Registrations(), func(r mutation.Registration) bool { return RouteOf(r) == route && len(r.Forms) > 0 })
	gate := s.Denied(map[string]string{target.ControlPlane.NamespaceLabel(): provider})
	if (gate != nil) != want || want && (!registered || !s.Serves(route)) {
		t.Errorf("%s: denied is %v, registered is %v", provider, gate, registered)
	}
	if !want {
		return
	}
	_, err := s.Admit(t.Context(), mutation.Request{Set: route.Set, Provider: provider})
	var failure *mutation.Failure
	if !errors.As(err, &failure) || failure.Reason != mutation.ProfileInvalid || failure.Code() != 503 || !strings.Contains(err.Error(), "a:") {
		t.Errorf("%s: the failure is %v", provider, err)
	}
}

// TestUnreadablePathKeepsActiveProfiles checks that an unreadable path keeps its active profiles and does not block
// others.
func TestUnreadablePathKeepsActiveProfiles(t *testing.T) {
	store := NewStore(compileTogether, nil, NewMetrics(prometheus.NewRegistry()), logr.Discard())
	all := &reader{files: []source.File{valued("/x/a", "one", "1"), valued("/y/b", "two", "1")}}
	for i := range all.files {
		all.files[i].Data = []byte(strings.ReplaceAll(string(all.files[i].Data), "name: /x/", "name: "))
		all.files[i].Data = []byte(strings.ReplaceAll(string(all.files[i].Data), "name: /y/", "name: "))
	}
	if err := store.Load(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	gone := source.File{Name: "/x", Problem: "it is gone"}
	if err := store.Load(t.Context(), &reader{files: append(all.files[1:], gone)}); err == nil || err.Error() != "/x/a: it is gone" {
		t.Errorf("the error is %v", err)
	}
	if diff := cmp.Diff("/y/b valid, /x/a last-good", states(store)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a=1", "b=1"}, activeValues(store)); diff != "" {
		t.Error(diff)
	}
}
