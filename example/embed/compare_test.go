// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/google/go-cmp/cmp"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	oscutils "github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/utils"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// compare holds that what a webhook made means the same as what the engine made, but for what acme does in Go.
func compare(t *testing.T, o sample.Object, webhook, engine []byte) {
	t.Helper()
	got, want := meaning(t, webhook), meaning(t, engine)
	metadata := got["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if marked := annotations[inGo] == "true"; marked != (o.Target == sample.TargetKubeScheduler) {
		t.Errorf("%s: acme's own code was called: %t", o.Target, marked)
	}
	if delete(annotations, inGo); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s (-engine +webhook):\n%s", o.Target, o.Object.GetName(), diff)
	}
}

// meaning is an object as a tree, in which the unit and the configuration of the kubelet, which Gardener's library writes anew, stand as
// it reads them.
func meaning(t *testing.T, object []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(object, &tree); err != nil {
		t.Fatal(err)
	}
	if tree["kind"] != "OperatingSystemConfig" {
		return tree
	}
	var config extensionsv1alpha1.OperatingSystemConfig
	if err := json.Unmarshal(object, &config); err != nil {
		t.Fatal(err)
	}
	if kubelet := extensionswebhook.UnitWithName(config.Spec.Units, target.KubeletUnit); kubelet != nil {
		tree["kubelet.service"] = optionsOf(t, *kubelet.Content)
		kubelet.Content = nil
	}
	if file := extensionswebhook.FileWithPath(config.Spec.Files, target.KubeletConfigurationPath); file != nil {
		tree["configuration"] = configurationOf(t, file.Content.Inline)
		file.Content.Inline.Data = ""
	}
	tree["spec"] = config.Spec
	return tree
}

// optionsOf are the options of a unit, sorted, with the words of the command line, sorted as well.
func optionsOf(t *testing.T, text string) []string {
	t.Helper()
	options, err := unit.DeserializeOptions(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, option := range options {
		value := option.Value
		if option.Name == "ExecStart" {
			value = strings.Join(slices.Sorted(slices.Values(extensionswebhook.DeserializeCommandLine(value))), " ")
		}
		out = append(out, "["+option.Section+"] "+option.Name+"="+value)
	}
	slices.Sort(out)
	return out
}

func configurationOf(t *testing.T, inline *extensionsv1alpha1.FileContentInline) kubeletconfigv1beta1.KubeletConfiguration {
	t.Helper()
	text, err := oscutils.NewFileContentInlineCodec().Decode(inline)
	if err != nil {
		t.Fatal(err)
	}
	var out kubeletconfigv1beta1.KubeletConfiguration
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
