// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// expectation is an expectation of a test for a target, as YAML.
type expectation struct{ Target, Text string }

// tested are the targets that every shoot with workers has.
var tested = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "machine-controller-manager-vpa"}

// expected returns the unconditional constant flags and labels of a profile, and the sidecar.
func expected(d *profile.Document) []expectation {
	var all []expectation
	for _, entry := range d.ControlPlane {
		for _, target := range tested {
			if entry.Target != target {
				continue
			}
			if text := expectedOf(entry); text != "" {
				all = append(all, expectation{target, text})
			}
		}
	}
	return all
}

func expectedOf(entry v1alpha1.TargetRules) string {
	found := map[string][]string{}
	for _, r := range entry.Rules {
		if !r.When.Absent() || !r.ForEach.Absent() || !r.Purposes.Absent() || r.Mode != "" || len(r.Operations) != 1 {
			continue
		}
		operation := r.Operations[0]
		switch name := operation.Key.Value; {
		case name == "machineControllerManagerProvider" && entry.Target == "machine-controller-manager-vpa":
			return "changed"
		case (name == "flags" || name == "podLabels") && child(operation.Value.Node, "container") == nil:
			found[name] = append(found[name], constants(operation.Value)...)
		}
	}
	var parts []string
	for _, name := range []string{"flags", "podLabels"} {
		if len(found[name]) > 0 {
			parts = append(parts, name+": {"+strings.Join(found[name], ", ")+"}")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// constants returns the entries of set with constant texts.
func constants(arguments source.Node) []string {
	set := child(arguments.Node, "set")
	var all []string
	for i := 0; set != nil && i+1 < len(set.Content); i += 2 {
		if value := set.Content[i+1]; value.Kind == yaml.ScalarNode && value.Tag != "!!null" && !strings.Contains(value.Value, "${") {
			all = append(all, fmt.Sprintf("%s: %s", quote(set.Content[i].Value), quote(value.Value)))
		}
	}
	return all
}
