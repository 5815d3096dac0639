// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/objects"
)

// TestAdmitIsStable checks that a newly compiled profile returns the same bytes for the same object each time.
func TestAdmitIsStable(t *testing.T) {
	for _, name := range []string{"etcd-created", "volumes", "containers", "env", "labels-and-annotations", "parameters-variables-lookups"} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join("testdata", "admit", name)
			r := readRequest(t, folder)
			var first []byte
			for range 20 {
				program, err := compile(t, contract.Today, filepath.Join(folder, "profile.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				_, patched := admit(t, program, r, asJSON(t, r.Object))
				if first == nil {
					first = patched
				}
				if !bytes.Equal(first, patched) {
					t.Fatalf("%s\nbecame\n%s", first, patched)
				}
			}
		})
	}
}

// request is a request.yaml in testdata/admit.
type request struct {
	Set             target.Set                   `yaml:"set"`
	Provider        string                       `yaml:"provider"`
	Garden          bool                         `yaml:"garden"`
	Operation       string                       `yaml:"operation"`
	GardenerVersion string                       `yaml:"gardenerVersion"`
	Object          map[string]any               `yaml:"object"`
	OldObject       map[string]any               `yaml:"oldObject"`
	Cluster         map[string]any               `yaml:"cluster"`
	Lookups         map[string]map[string]string `yaml:"lookups"`
	Objects         []map[string]any             `yaml:"objects"`
	LookupError     string                       `yaml:"lookupError"`
}

// outcome is a want.yaml in testdata/admit.
type outcome struct {
	Failure *failure         `yaml:"failure,omitempty"`
	Target  string           `yaml:"target,omitempty"`
	Rules   []string         `yaml:"rules,omitempty"`
	Patch   []map[string]any `yaml:"patch,omitempty"`
}

type failure struct {
	Reason  mutation.Reason `yaml:"reason"`
	Code    int32           `yaml:"code"`
	Message string          `yaml:"message"`
}

// TestAdmit checks each folder in testdata/admit: the profile's answer to the request is want.yaml, and a second
// admission changes nothing.
func TestAdmit(t *testing.T) {
	eachAdmitted(t, func(t *testing.T, folder string, r request, program *mutation.Program) {
		got, patched := admit(t, program, r, asJSON(t, r.Object))
		out, err := yaml.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join(folder, "want.yaml"), string(out))
		if again, _ := admit(t, program, r, patched); got.Failure == nil && again.Patch != nil {
			t.Errorf("the object is changed again: %v", again.Patch)
		}
	})
}

// eachAdmitted calls for each folder in testdata/admit, as a test of its own, with its request and the program of its profile.
func eachAdmitted(t *testing.T, do func(t *testing.T, folder string, r request, program *mutation.Program)) {
	t.Helper()
	folders, err := filepath.Glob("testdata/admit/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			r := readRequest(t, folder)
			generation, err := contract.GenerationOf(r.GardenerVersion)
			if err != nil {
				t.Fatal(err)
			}
			program, err := compile(t, generation, filepath.Join(folder, "profile.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			do(t, folder, r, program)
		})
	}
}

func readRequest(t *testing.T, folder string) request {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "request.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var r request
	if err := yaml.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// admit runs the program on the object, and returns the result and the patched object.
func admit(t *testing.T, program *mutation.Program, r request, object []byte) (outcome, []byte) {
	t.Helper()
	metadata := r.Object["metadata"].(map[string]any)
	gvk := schema.FromAPIVersionAndKind(r.Object["apiVersion"].(string), r.Object["kind"].(string))
	result, err := program.Admit(context.Background(), mutation.Request{
		Set: r.Set, Provider: r.Provider, Garden: r.Garden, Operation: r.Operation,
		Namespace: metadata["namespace"].(string), Name: metadata["name"].(string),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Object: object, OldObject: asJSON(t, r.OldObject),
	}, static{t, r})
	if err != nil {
		var f *mutation.Failure
		if !errors.As(err, &f) {
			t.Fatalf("the error is no failure: %v", err)
		}
		return outcome{Failure: &failure{f.Reason, f.Code(), f.Error()}}, object
	}
	got := outcome{Target: result.Target}
	for _, applied := range result.Applied {
		line := fmt.Sprintf("%s: %s", applied.Name(), applied.Outcome)
		if applied.Reason != "" {
			line += ": " + applied.Reason
		}
		got.Rules = append(got.Rules, line)
	}
	if result.Patch == nil {
		return got, object
	}
	if err := json.Unmarshal(result.Patch, &got.Patch); err != nil {
		t.Fatalf("the patch is no JSON: %v", err)
	}
	return got, golden.Apply(t, object, result.Patch)
}

// static is a source of the facts in a request.yaml.
type static struct {
	t *testing.T
	r request
}

func (s static) Read(_ context.Context, namespace string) (*facts.Facts, error) {
	if s.r.Cluster == nil {
		return nil, fmt.Errorf("cluster %s: %w", namespace, facts.ErrNotFound)
	}
	read := facts.FromCluster
	if s.r.Garden {
		read = facts.FromGarden
	}
	f, err := read(asJSON(s.t, s.r.Cluster))
	if err != nil {
		return nil, err
	}
	return f.WithNamespace(facts.Namespace{Name: namespace}), nil
}

func (s static) Lookup(ctx context.Context, namespace string, l facts.LookupRequest) (*facts.LookupResult, error) {
	if s.r.LookupError != "" {
		return nil, fmt.Errorf("%s: %w", s.r.LookupError, facts.ErrUnavailable)
	}
	known := facts.Static{Objects: append(slices.Clone(s.r.Objects), objects.Of(s.r.Lookups, s.r.Lookups)...)}
	return known.Lookup(ctx, namespace, l)
}

func asJSON(t *testing.T, value map[string]any) []byte {
	t.Helper()
	if value == nil {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
