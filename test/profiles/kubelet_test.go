// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// node has the parts of an OperatingSystemConfig that the check of its kubelet configuration needs.
type node struct {
	Spec struct {
		Files []struct {
			Path    string `json:"path"`
			Content struct {
				Inline *struct {
					Encoding string `json:"encoding"`
					Data     string `json:"data"`
				} `json:"inline"`
				ImageRef *struct {
					Image string `json:"image"`
				} `json:"imageRef"`
			} `json:"content"`
		} `json:"files"`
	} `json:"spec"`
}

// checkKubeletConfiguration checks that the kubelet of the object's version strictly decodes the profile's values in
// its configuration file: that all fields exist, with this spelling, and that the values have the right types.
// Gardener's own values are ignored: it writes an empty crashLoopBackOff also for kubelets without this field, which
// fall back to lenient decoding.
func checkKubeletConfiguration(t *testing.T, s subject, object []byte) {
	t.Helper()
	if s.kind != "OperatingSystemConfig" {
		return
	}
	before := kubeletProblems(t, s.object)
	for _, problem := range kubeletProblems(t, object) {
		if !slices.Contains(before, problem) {
			t.Errorf("%s %s: the kubelet refuses its configuration: %s", s.kind, s.name, problem)
		}
	}
}

// kubeletProblems returns the values that the kubelet of an OperatingSystemConfig would not decode; none for kubelets
// that are not in the table.
func kubeletProblems(t *testing.T, object []byte) []string {
	t.Helper()
	var n node
	if err := json.Unmarshal(object, &n); err != nil {
		t.Fatal(err)
	}
	text, version := n.kubelet(t)
	if text == "" || !slices.Contains(kubeflags.Versions(), version) {
		return nil
	}
	var configuration map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &configuration); err != nil {
		return []string{err.Error()}
	}
	problems := strict("", configuration, version)
	for i := range problems {
		problems[i] += " (Kubernetes " + version.String() + ")"
	}
	return problems
}

// kubelet is the text of the configuration file, and the version that the kubelet's image has.
func (n node) kubelet(t *testing.T) (string, kubeflags.Minor) {
	t.Helper()
	var (
		text    string
		version kubeflags.Minor
	)
	for _, file := range n.Spec.Files {
		switch {
		case file.Path == target.KubeletConfigurationPath && file.Content.Inline != nil:
			text = file.Content.Inline.Data
			if file.Content.Inline.Encoding == "b64" {
				decoded, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				text = string(decoded)
			}
		case file.Path == target.KubeletPath && file.Content.ImageRef != nil:
			tag := file.Content.ImageRef.Image[strings.LastIndexByte(file.Content.ImageRef.Image, ':')+1:]
			if _, err := fmt.Sscanf(strings.TrimPrefix(tag, "v"), "1.%d.", &version); err != nil {
				t.Fatalf("the kubelet's image has no version: %q", file.Content.ImageRef.Image)
			}
		}
	}
	return text, version
}

// strict returns the parts of a value that the kubelet of a version would not decode.
func strict(path string, value any, version kubeflags.Minor) []string {
	kind := "object"
	if path != "" {
		field, ok := kubeflags.Field(path)
		if !ok || !field.In(version) {
			return []string{"unknown field " + path}
		}
		kind = field.Kind
	}
	if kind == "any" || value == nil {
		return nil
	}
	problem := []string{fmt.Sprintf("%s is %v and must be of kind %s", path, value, kind)}
	switch value := value.(type) {
	case map[string]any:
		var problems []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			switch kind {
			case "map":
				problems = append(problems, strict(path+"{}", value[name], version)...)
			case "object":
				problems = append(problems, strict(strings.TrimPrefix(path+"."+name, "."), value[name], version)...)
			default:
				return problem
			}
		}
		return problems
	case []any:
		if kind != "list" {
			return problem
		}
		var problems []string
		for _, item := range value {
			problems = append(problems, strict(path+"[]", item, version)...)
		}
		return problems
	case bool:
		return unless(kind == "bool", problem)
	case float64:
		return unless(kind == "number" || kind == "integer" && value == math.Trunc(value), problem)
	default:
		return unless(kind == "string", problem)
	}
}

func unless(good bool, problem []string) []string {
	if good {
		return nil
	}
	return problem
}

// TestStrict checks that the check finds errors.
func TestStrict(t *testing.T) {
	for text, want := range map[string]string{
		"kind: KubeletConfiguration\nfeatureGates: {A: true}\nevictionHard: {memory.available: 100Mi}": "",
		"enableControllerAttachDetach: true\nsyncFrequency: 1m0s":                                      "",
		"registerWithTaints: [{key: a, effect: NoSchedule}]":                                           "",

		"registerWithTaints: [{kee: a}]":                     "unknown field registerWithTaints[].kee",
		"enablecontrollerAttachDetach: true":                 "unknown field enablecontrollerAttachDetach",
		"enableControllerAttachDetach: x":                    "enableControllerAttachDetach is x and must be of kind bool",
		"featureGates: {A: 1}":                               "featureGates{} is 1 and must be of kind bool",
		"maxPods: 1.5":                                       "maxPods is 1.5 and must be of kind integer",
		"maxPods: [1]":                                       "maxPods is [1] and must be of kind integer",
		"maxPods: {a: 1}":                                    "maxPods is map[a:1] and must be of kind integer",
		"crashLoopBackOff: {maxContainerRestartPeriod: 10s}": "unknown field crashLoopBackOff",
	} {
		var value map[string]any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strict("", value, 31), "\n"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
