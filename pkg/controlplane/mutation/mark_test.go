// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// programsOf compiles profiles by name, with the settings of an installation.
func programsOf(t *testing.T, o compiler.Options, rules map[string]string) (*mutation.Program, map[string]string) {
	t.Helper()
	var files []source.File
	for name, rules := range rules {
		head := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: " + name + "}\nproviders: [acme]\n"
		files = append(files, source.File{Name: name, Data: []byte(head + rules)})
	}
	documents, findings := profile.Load(files...)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	o.Kubernetes = elsewhere
	program, err := compiler.Compile(documents, o)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, version := range program.Profiles() {
		versions[version.Name] = version.Name + "@" + version.Hash[:8]
	}
	return program, versions
}

// TestMark checks the profiles in the mark: those with rules for the object in this set. A conforming object gets no
// mark.
func TestMark(t *testing.T) {
	program, versions := programsOf(t, compiler.Options{Mark: true}, map[string]string{
		"a": "controlplane: {kube-apiserver: [{flags: {set: {a: b}}}]}\ncontrolplaneexposure: {kube-apiserver: [{labels: {set: {e: f}}}]}",
		"b": "controlplane: {kube-apiserver: [{flags: {set: {c: d}}}]}",
		"c": "controlplane: {kube-scheduler: [{flags: {set: {c: d}}}]}",
		"d": "mode: observe\ncontrolplane: {kube-apiserver: [{flags: {set: {x: y}}}]}",
	})
	request := requestFor("kube-apiserver", "kube-apiserver:v1.33.4")
	for _, set := range []target.Set{target.ControlPlane, target.Exposure} {
		request.Set = set
		result, err := program.Admit(t.Context(), request, &facts.Static{})
		if err != nil || result.Patch == nil {
			t.Fatalf("%s: %v, %v", set, result, err)
		}
		request.Object = golden.Apply(t, request.Object, result.Patch)
		if again, err := program.Admit(t.Context(), request, &facts.Static{}); err != nil || again.Patch != nil {
			t.Errorf("%s: a second time: %s, %v", set, again.Patch, err)
		}
	}
	want := map[string]string{
		"graft.provider.extensions.gardener.cloud/mutated-by-controlplane":         versions["a"] + "," + versions["b"],
		"graft.provider.extensions.gardener.cloud/mutated-by-controlplaneexposure": versions["a"],
	}
	got := annotationsOf(t, request.Object)
	maps.DeleteFunc(got, func(key, _ string) bool { return strings.Contains(key, "/written-") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	request.Object = bytes.ReplaceAll(request.Object, []byte("graft.provider"), []byte("nobody"))
	if result, err := program.Admit(t.Context(), request, &facts.Static{}); err != nil || result.Patch != nil {
		t.Errorf("want no patch for a conforming object without a mark, got %s, %v", result.Patch, err)
	}
}

func annotationsOf(t *testing.T, object []byte) map[string]string {
	t.Helper()
	var read struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &read); err != nil {
		t.Fatal(err)
	}
	return read.Metadata.Annotations
}
