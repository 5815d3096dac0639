// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// configuration sets and removes fields of the kubelet's configuration file.
func configuration() Definition {
	return Definition{
		Name:      "configuration",
		Summary:   "sets and removes fields of the kubelet's configuration file; mappings are merged, and all other fields and comments stay",
		Example:   "configuration: {set: {enableControllerAttachDetach: true}, remove: [volumePluginDir]}",
		Arguments: setAndRemove("fields", shapeLike[kubeletconfigv1beta1.KubeletConfiguration]("kind", "apiVersion", "featureGates")),
		Parts:     target.KubeletConfiguration,
		Compile:   compileConfiguration,
	}
}

func compileConfiguration(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	known := fieldsOf(reflect.TypeFor[kubeletconfigv1beta1.KubeletConfiguration]())
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
		apply: func(name string) func(*target.Object, Resolved) error {
			return func(o *target.Object, v Resolved) error { return setKubeletField(o, v, name) }
		},
	}.compile(arguments, path, a.Set, a.Remove)
	for _, write := range writes {
		if value, ok := write.Value.Constant(); ok && !value.Absent {
			findings = append(findings, checkKubeletField(write, value)...)
		}
	}
	return writes, findings
}

// checkKubeletField decodes a constant as the kubelet would, strictly.
func checkKubeletField(write Write, value Resolved) source.Findings {
	decoder := json.NewDecoder(bytes.NewReader(object(write.Place.Name, value.JSON)))
	decoder.DisallowUnknownFields()
	var into kubeletconfigv1beta1.KubeletConfiguration
	if err := decoder.Decode(&into); err != nil {
		return source.Findings{write.At.Finding(write.Path, "the kubelet cannot read this: %s", strings.TrimPrefix(err.Error(), "json: ")).Of(WrongShape)}
	}
	return nil
}

// fieldsOf are the names of a struct's fields in JSON, without those that say what kind of document it is.
func fieldsOf(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && name != "kind" && name != "apiVersion" {
			names = append(names, name)
		}
	}
	return names
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
