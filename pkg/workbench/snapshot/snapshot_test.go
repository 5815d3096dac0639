// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// counting counts the control planes that are generated.
type counting struct {
	generator gardener.Generator
	options   []snapshot.Options
}

func (c *counting) Generate(ctx context.Context, options ...snapshot.Options) ([]snapshot.Generated, error) {
	c.options = append(c.options, options...)
	return c.generator.Generate(ctx, options...)
}

func read(t *testing.T, names ...string) []manifest.Object {
	t.Helper()
	var objects []manifest.Object
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		found, findings := manifest.Parse(source.File{Name: name, Data: data})
		if err := findings.Err(); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, found...)
	}
	return objects
}

func TestBuild(t *testing.T) {
	for _, c := range []struct {
		name      string
		options   snapshot.Options
		manifests []string
		// want is a line for each snapshot: title, namespace, provider, version, region, and how many objects, some of them
		// by name.
		want string
		// generated is how many control planes are generated.
		generated int
	}{
		{
			name: "nothing: all is generated", options: snapshot.Options{Provider: "acme", Kubernetes: "1.33.5", HighAvailability: true},
			want: "1.33.5, ha | shoot--local--sample | acme | 1.33.5 | region-1 | generated", generated: 1,
		},
		{
			name: "a Shoot from a file", manifests: []string{"shoot.yaml"},
			want: "1.32.7 | shoot--team--one | acme | 1.32.7 | moon-1 | generated", generated: 1,
		},
		{
			name: "a Shoot, and a field that is set by hand", manifests: []string{"shoot.yaml"}, options: snapshot.Options{Shoot: []byte(`{"spec":{"region":"mars"}}`)},
			want: "1.32.7 | shoot--team--one | acme | 1.32.7 | mars | generated", generated: 1,
		},
		{
			name: "a Cluster and its object: nothing is generated", manifests: []string{"cluster.yaml", "scheduler.yaml"},
			want: "1.31.9 | shoot--team--two | acme | 1.31.9 | moon-2 | Deployment kube-scheduler",
		},
		{
			name: "a Cluster alone: its objects are generated", manifests: []string{"cluster.yaml"},
			want: "1.31.9 | shoot--team--two | acme | 1.31.9 | moon-2 | generated", generated: 1,
		},
		{
			name: "an object alone: its facts are generated", manifests: []string{"scheduler.yaml"}, options: snapshot.Options{Provider: "acme"},
			want: "shoot--team--two | shoot--team--two | acme | 1.34.2 | region-1 | Deployment kube-scheduler", generated: 1,
		},
		{
			name: "what lookups find is no object of a control plane", manifests: []string{"secret.yaml"}, options: snapshot.Options{Provider: "acme", Kubernetes: "1.34.2"},
			want: "1.34.2 | shoot--local--sample | acme | 1.34.2 | region-1 | generated, Secret cloudprovider", generated: 1,
		},
		{
			name: "two control planes", manifests: []string{"cluster.yaml", "shoot.yaml", "scheduler.yaml"},
			want: "shoot--team--two | shoot--team--two | acme | 1.31.9 | moon-2 | Deployment kube-scheduler\n" +
				"shoot--team--one | shoot--team--one | acme | 1.32.7 | moon-1 | generated", generated: 1,
		},
		{
			name: "objects of a whole seed", manifests: []string{"foreign.yaml", "cluster.yaml", "scheduler.yaml"},
			want: "1.31.9 | shoot--team--two | acme | 1.31.9 | moon-2 | Deployment kube-scheduler",
		},
		{
			name: "a namespace with its own labels", manifests: []string{"cluster.yaml", "scheduler.yaml", "namespace.yaml"},
			want: "1.31.9 | shoot--team--two | other | 1.31.9 | moon-2 | Deployment kube-scheduler",
		},
		{
			name: "a virtual garden", options: snapshot.Options{Garden: true, Kubernetes: "1.33.4"},
			want: "1.33.4, garden | garden |  | 1.33.4 |  | generated", generated: 1,
		},
		{
			name: "the older generation", options: snapshot.Options{Legacy: true, Kubernetes: "1.20.2", Provider: "acme"},
			want: "1.20.2, legacy | shoot--local--sample | acme | 1.20.2 | region-1 | generated", generated: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			generator := &counting{}
			snapshots, err := snapshot.Build(t.Context(), snapshot.Input{Options: c.options, Objects: read(t, c.manifests...)}, generator)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range snapshots {
				got = append(got, describe(s))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
			if len(generator.options) != c.generated {
				t.Errorf("got %d control planes generated, want %d", len(generator.options), c.generated)
			}
		})
	}
}

func describe(s *snapshot.Snapshot) string {
	region := ""
	if shoot, ok := s.Facts.Activation(facts.AdmittedObject{}, "CREATE").ResolveName("shoot"); ok {
		region = shoot.(traits.Indexer).Get(types.String("region")).Value().(string)
	}
	var objects []string
	for _, o := range s.Objects {
		if o.Position == (source.Position{}) {
			if len(objects) == 0 {
				objects = append(objects, "generated")
			}
			continue
		}
		objects = append(objects, o.String())
	}
	return strings.Join([]string{
		s.Title, s.Namespace().Name, s.Namespace().Labels["shoot.gardener.cloud/provider"], s.Facts.Kubernetes(), region, strings.Join(objects, ", "),
	}, " | ")
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct {
		name      string
		options   snapshot.Options
		manifests []string
		want      string
	}{
		{"a version that Gardener's code here does not know", snapshot.Options{Kubernetes: "1.12.0"}, nil, "1.12.0 is outside 1.31 to 1.34"},
		{"a Shoot twice", snapshot.Options{}, []string{"shoot.yaml", "shoot.yaml"}, "shoot.yaml:4:1: the Shoot of this control plane is already at shoot.yaml:4:1"},
		{"no control plane", snapshot.Options{}, []string{"foreign.yaml"}, "the manifests have no control plane: objects of namespaces without a control plane: default, kube-system"},
		{"a Cluster that cannot be decoded", snapshot.Options{}, []string{"bad-cluster.yaml", "scheduler.yaml"}, "bad-cluster.yaml:4:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := snapshot.Build(t.Context(), snapshot.Input{Options: c.options, Objects: read(t, c.manifests...)}, gardener.Generator{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := snapshot.Build(t.Context(), snapshot.Input{}, nil); !errors.Is(err, snapshot.ErrNoGenerator) {
		t.Errorf("got error %v, want %v", err, snapshot.ErrNoGenerator)
	}
}

func TestSet(t *testing.T) {
	var o snapshot.Options
	err := o.Set("region=eu", "hibernated=true", "spec.kubernetes.version=1.32.1", "networking.nodes=10.0.0.0/16", "annotations[example.org/a]=b",
		"seed.metadata.labels.zone=a", "cloudProfile.spec.type=acme", "purpose=")
	if err != nil {
		t.Fatal(err)
	}
	want := snapshot.Options{
		Kubernetes: "1.32.1", Hibernated: true,
		Shoot: []byte(`{"spec":{"region":"eu","hibernation":{"enabled":true},"kubernetes":{"version":"1.32.1"},` +
			`"networking":{"nodes":"10.0.0.0/16"},"purpose":""},"metadata":{"annotations":{"example.org/a":"b"}}}`),
		Seed: []byte(`{"metadata":{"labels":{"zone":"a"}}}`), CloudProfile: []byte(`{"spec":{"type":"acme"}}`),
	}
	want.MarkWritten()
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	for field, want := range map[string]string{
		"region": "must be path=value", "=x": "must be path=value", "reigon=x": `unknown field "reigon" (did you mean "region"?)`, "region=[": "did not find",
	} {
		if err := o.Set(field); !errors.Is(err, snapshot.ErrSet) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", field, err, want)
		}
	}
}

func TestAdmit(t *testing.T) {
	program := golden.Compile(t, compiler.Options{}, "testdata/profile.yaml")
	snapshots, err := snapshot.Build(t.Context(), snapshot.Input{
		Options: snapshot.Options{Provider: "acme"}, Objects: read(t, "cluster.yaml", "scheduler.yaml"), Present: read(t, "secret.yaml"),
	}, gardener.Generator{})
	if err != nil {
		t.Fatal(err)
	}
	admit := func() string {
		changes, err := snapshots[0].Admit(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		if changes[0].Denied != nil {
			return "denied: " + changes[0].Denied.Error()
		}
		for _, edit := range changes[0].Edits() {
			if edit.Op == '+' {
				return edit.Line.Text
			}
		}
		return "unchanged"
	}
	if diff := cmp.Diff("--vmodule=(from Secret cloudprovider)", admit()); diff != "" {
		t.Errorf("an object that is created (-want +got):\n%s", diff)
	}
	if got := snapshots[0].Selected(program, snapshots[0].Objects[0]); len(got) != 1 || got[0].Provider != "acme" {
		t.Errorf("got the registrations %v, want that of acme", got)
	}
	snapshots[0].Present = nil
	if got := admit(); !strings.HasPrefix(got, "denied: ") || !strings.Contains(got, "cloudprovider") {
		t.Errorf("got %q, want that the Secret is missing", got)
	}
}

func TestServe(t *testing.T) {
	var out strings.Builder
	in := strings.NewReader(`{"kubernetes":"1.34.2","provider":"acme"}
{"kubernetes":"1.2.3"}`)
	if err := gardener.Serve(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"kube-apiserver"`) || !strings.Contains(lines[1], `"error"`) {
		t.Errorf("got %d lines, the second %.200s", len(lines), lines[len(lines)-1])
	}
	if err := gardener.Serve(t.Context(), strings.NewReader(`{"kubernets":"1.34.2"}`), &out); err == nil || !strings.Contains(err.Error(), "kubernets") {
		t.Errorf("got error %v, want that the field is unknown", err)
	}
}

func TestKnown(t *testing.T) {
	const refused = "; control planes are generated of 1.31 to 1.34, such as 1.34.2"
	for version, want := range map[string]string{"": "", "1.33": "1.33.6", "1.33.1": "1.33.1", "1.20.2": "1.20.2", "1.36": refused, "1.99": refused, "new": refused} {
		got, err := snapshot.Known(version)
		if want == refused {
			if !errors.Is(err, snapshot.ErrVersion) || !strings.HasSuffix(err.Error(), version+refused) {
				t.Errorf("%s: got %q and error %v", version, got, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: got %q and error %v, want %q", version, got, err, want)
		}
	}
}

func TestProgramFails(t *testing.T) {
	for script, want := range map[string]string{
		"echo no memory >&2; exit 3": "failed (exit status 3): no memory",
		"exit 3":                     "failed (exit status 3): it printed no error message",
		"exit 0":                     "graft-controlplane wrote 0 control planes instead of 1",
	} {
		path := filepath.Join(t.TempDir(), "generator")
		if err := os.WriteFile(path, []byte("#!/bin/sh\ncat >/dev/null\n"+script+"\n"), 0o700); err != nil { // #nosec G306 -- it is run
			t.Fatal(err)
		}
		if _, err := (snapshot.Command{Path: path}).Generate(t.Context(), snapshot.Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", script, err, want)
		}
	}
}
