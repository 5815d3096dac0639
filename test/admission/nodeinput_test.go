// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeInputs is testdata/node-input.yaml.
type nodeInputs struct {
	Profiles map[string]string `yaml:"profiles"`
	Cases    []nodeInput       `yaml:"cases"`
}

// nodeInput is an OperatingSystemConfig, and the denial that its client gets; without one it is admitted with the profile's edits.
type nodeInput struct {
	Name, Profile, Purpose, Unit, Configuration, Encoding string
	// Repeated is a line that replaces the word REPEATED as often as needed for a unit of about this size in bytes.
	Repeated struct {
		Line  string
		Bytes int
	}
	Denied *struct {
		Code    int32
		Message []string
	}
}

const (
	goodUnit          = "[Service]\nExecStart=/opt/bin/kubelet --v=2 $KUBELET_EXTRA_ARGS\n"
	goodConfiguration = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
)

// TestNodeInput sends invalid OperatingSystemConfigs through the kube-apiserver: the client gets the reason, and
// nothing is created or updated. Large ones, and invalid parts without a rule, are admitted.
func TestNodeInput(t *testing.T) {
	inputs := readNodeInputs(t)
	profiles := map[string]string{}
	for name, rules := range inputs.Profiles {
		profiles[name] = head(name, name) + rules
	}
	start(t, programOptions{Profiles: profiles})
	namespaces := map[string]string{}
	for name := range inputs.Profiles {
		namespaces[name] = newShoot(t, "input-"+name, name)
	}
	for i, input := range inputs.Cases {
		t.Run(input.Name, func(t *testing.T) {
			good := nodeInput{Purpose: input.Purpose}.object(namespaces[input.Profile], fmt.Sprint("good-", i))
			before := create(t, good)
			after := before.DeepCopy()
			bad := input.object(namespaces[input.Profile], fmt.Sprint("new-", i))
			after.Object["spec"] = bad.DeepCopy().Object["spec"]
			if input.Denied == nil {
				expectEdited(t, input, create(t, bad.DeepCopy()), bad)
				if err := land.Client().Update(t.Context(), after); err != nil {
					t.Fatal(err)
				}
				expectEdited(t, input, after, bad)
				return
			}
			expectDenied(t, land.Client().Create(t.Context(), bad.DeepCopy()), input.Denied.Code, input.Denied.Message...)
			expectAbsent(t, bad)
			expectDenied(t, land.Client().Update(t.Context(), after), input.Denied.Code, input.Denied.Message...)
			if got := stored(t, before); got.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("the object changed: %q", changes(before, got))
			}
		})
	}
}

func readNodeInputs(t *testing.T) nodeInputs {
	t.Helper()
	data, err := os.ReadFile("testdata/node-input.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	var inputs nodeInputs
	if err := decoder.Decode(&inputs); err != nil {
		t.Fatal(err)
	}
	return inputs
}

// object is the OperatingSystemConfig of the input.
func (in nodeInput) object(namespace, name string) *unstructured.Unstructured {
	types := []string{"gardenlinux", "suse-chost", "ubuntu"} // several stand side by side
	spec := map[string]any{"type": types[len(in.Name)%len(types)], "purpose": "reconcile"}
	if in.Purpose != "" {
		spec["purpose"] = in.Purpose
	}
	if in.Unit != "-" {
		spec["units"] = []any{map[string]any{"name": "kubelet.service", "content": in.unit()}}
	}
	if in.Configuration != "-" {
		text := goodConfiguration
		if in.Configuration != "" {
			text = in.Configuration
		}
		spec["files"] = []any{map[string]any{
			"path":    "/var/lib/kubelet/config/kubelet",
			"content": map[string]any{"inline": map[string]any{"encoding": in.Encoding, "data": text}},
		}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "OperatingSystemConfig",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     spec,
	}}
}

func (in nodeInput) unit() string {
	if in.Unit == "" {
		return goodUnit
	}
	line := in.Repeated.Line + "\n"
	return strings.ReplaceAll(in.Unit, "REPEATED\n", strings.Repeat(line, in.Repeated.Bytes/len(line)))
}

// expectEdited checks that an object was admitted with exactly the edits of its profile.
func expectEdited(t *testing.T, in nodeInput, got, sent *unstructured.Unstructured) {
	t.Helper()
	if in.Unit != "-" {
		was := contentOf(t, sent, "units", "name", "kubelet.service")
		is := contentOf(t, got, "units", "name", "kubelet.service")
		without := strings.NewReplacer(" \\\n    --cloud-provider=external", "", " --cloud-provider=external", "").Replace(is)
		if without == is || without != was {
			t.Errorf("a unit of %d bytes became one of %d, without the flag of %d", len(was), len(is), len(without))
		}
	}
	if in.Configuration != "-" {
		const file = "/var/lib/kubelet/config/kubelet"
		if diff := cmp.Diff(contentOf(t, sent, "files", "path", file), contentOf(t, got, "files", "path", file)); diff != "" {
			t.Errorf("the configuration (-sent +stored):\n%s", diff)
		}
	}
	if in.Profile == "provision" && contentOf(t, got, "files", "path", "/opt/first-boot") != "first" {
		t.Error("the file of the profile is not there")
	}
	if err := land.Client().Get(t.Context(), client.ObjectKeyFromObject(got), got.DeepCopy()); err != nil {
		t.Errorf("%s was not stored: %v", nameOf(got), err)
	}
}
