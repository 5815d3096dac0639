// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// configuration sets and removes fields of the kubelet's configuration file.
func configuration() Definition {
	return Definition{
		Name:    "configuration",
		Summary: "sets and removes fields of the kubelet's configuration file; mappings are merged, and all other fields and comments stay",
		Example: "configuration: {set: {enableControllerAttachDetach: true}, remove: [volumePluginDir]}",
		Examples: []string{
			"configuration: {set: {memoryReservationPolicy: TieredReservation, tlsCurvePreferences: [29], defaultPodSysctls: {net.ipv4.ip_forward: \"1\"}}}",
		},
		Arguments: setAndRemove("fields", kubeletShape()),
		Parts:     target.KubeletConfiguration,
		Compile:   compileConfiguration,
	}
}

func compileConfiguration(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	known := kubeletFields()
	writes, findings := compiler{
		place: Place{Kind: KubeletField},
		value: c.Tree,
		check: func(name string) string {
			switch {
			case name == "featureGates":
				return "feature gates are set with the operation featureGates, which keeps the others"
			case !slices.Contains(known, name):
				return fmt.Sprintf("%q is no field of a KubeletConfiguration%s", name, source.Suggest(name, known))
			}
			return ""
		},
		rule: func(name string) source.Rule {
			if name == "featureGates" {
				return OtherOperation
			}
			return UnknownKubeletField
		},
		known: known,
		apply: func(name string) func(*target.Object, Resolved) error {
			return func(o *target.Object, v Resolved) error { return setKubeletField(o, v, name) }
		},
	}.compile(arguments, path, a.Set, a.Remove)
	for _, write := range writes {
		if value, ok := write.Value.Constant(); ok && !value.Absent {
			findings = append(findings, checkKubeletField(write, value)...)
		}
	}
	return writes, append(findings, hold(kubeletChecks, a.Set, path+".set").Beyond(findings)...)
}

// checkKubeletField judges a constant.
func checkKubeletField(write Write, value Resolved) source.Findings {
	if problem := checkKubeletValue(write.Place.Name, value.JSON); problem != "" {
		return source.Findings{write.At.Finding(write.Path, "the kubelet cannot read this: %s", problem).Of(WrongShape)}
	}
	return nil
}

func setKubeletField(o *target.Object, v Resolved, path ...string) error {
	yaml, err := o.KubeletConfiguration()
	if err != nil {
		return err
	}
	if v.Absent {
		return nested(yaml.Remove(path...), "%s of the kubelet's configuration", strings.Join(path, "."))
	}
	return nested(yaml.Merge(v.JSON, path...), "%s of the kubelet's configuration", strings.Join(path, "."))
}
