// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeInputs is testdata/node-input.yaml.
type nodeInputs struct {
	Profiles map[string]string `yaml:"profiles"`
	Cases    []nodeInput       `yaml:"cases"`
}

// nodeInput is an OperatingSystemConfig, and the denial that its client gets; without one it is admitted with the
// profile's edits.
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

// The client receives the error of an invalid OperatingSystemConfig, and neither a creation nor an update is stored.
// Large or untouched input is admitted.
var _ = Describe("an OperatingSystemConfig", Ordered, func() {
	inputs := readNodeInputs()
	var namespaces map[string]string

	BeforeAll(func(ctx SpecContext) {
		profiles := map[string]string{}
		for name, rules := range inputs.Profiles {
			profiles[name] = head(name, name) + rules
		}
		start(ctx, programOptions{Profiles: profiles})
		namespaces = map[string]string{}
		for name := range inputs.Profiles {
			namespaces[name] = newShoot(ctx, "input-"+name, name)
		}
	})

	for i, input := range inputs.Cases {
		verdict := "is admitted: "
		if input.Denied != nil {
			verdict = "is denied with the reason: "
		}
		It(verdict+input.Name, func(ctx SpecContext) {
			good := nodeInput{Purpose: input.Purpose}.object(namespaces[input.Profile], fmt.Sprint("good-", i))
			before := create(ctx, good)
			after := before.DeepCopy()
			bad := input.object(namespaces[input.Profile], fmt.Sprint("new-", i))
			after.Object["spec"] = bad.DeepCopy().Object["spec"]
			if input.Denied == nil {
				expectEdited(ctx, input, create(ctx, bad.DeepCopy()), bad)
				Expect(land.Client().Update(ctx, after)).To(Succeed())
				expectEdited(ctx, input, after, bad)
				return
			}
			expectDenied(land.Client().Create(ctx, bad.DeepCopy()), input.Denied.Code, input.Denied.Message...)
			expectAbsent(ctx, bad)
			expectDenied(land.Client().Update(ctx, after), input.Denied.Code, input.Denied.Message...)
			Expect(stored(ctx, before).GetResourceVersion()).
				To(Equal(before.GetResourceVersion()), "resource version of the stored object")
		})
	}
})

func readNodeInputs() nodeInputs {
	GinkgoHelper()
	data, err := os.ReadFile("testdata/node-input.yaml")
	Expect(err).NotTo(HaveOccurred())
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	var inputs nodeInputs
	Expect(decoder.Decode(&inputs)).To(Succeed())
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
func expectEdited(ctx context.Context, in nodeInput, got, sent *unstructured.Unstructured) {
	GinkgoHelper()
	if in.Unit != "-" {
		was := contentOf(sent, "units", "name", "kubelet.service")
		is := contentOf(got, "units", "name", "kubelet.service")
		without := strings.NewReplacer(" \\\n    --cloud-provider=external", "", " --cloud-provider=external", "").Replace(is)
		Expect(without).NotTo(Equal(is), "the unit without the flag of the profile")
		Expect(without).To(Equal(was), "the unit without the flag of the profile")
	}
	if in.Configuration != "-" {
		const file = "/var/lib/kubelet/config/kubelet"
		Expect(contentOf(got, "files", "path", file)).
			To(BeComparableTo(contentOf(sent, "files", "path", file)), "the configuration")
	}
	if in.Profile == "provision" {
		Expect(contentOf(got, "files", "path", "/opt/first-boot")).To(Equal("first"), "the file of the profile")
	}
	Expect(land.Client().Get(ctx, client.ObjectKeyFromObject(got), got.DeepCopy())).
		To(Succeed(), "%s was not stored", nameOf(got))
}
