// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// The flags of the kube-apiserver that list admission plugins.
const (
	enablePlugins  = "enable-admission-plugins"
	disablePlugins = "disable-admission-plugins"
)

// admissionPlugins defines the only operation for the two lists of admission plugins. A plugin is in at most one of
// them. The contract requires that plugins that conflict with CSI, such as PersistentVolumeLabel, are enabled without
// CSI and disabled with it.
func admissionPlugins() Definition {
	return Definition{
		Name:     "admissionPlugins",
		Summary:  "enables and disables admission plugins of the kube-apiserver; a plugin in both lists is an error",
		Example:  "admissionPlugins: {enable: [PodNodeSelector]}",
		Examples: []string{"admissionPlugins: {disable: [DefaultStorageClass], default: [AlwaysPullImages]}"},
		Arguments: []Argument{
			{Name: "enable", Type: names, Summary: "plugins to enable"},
			{Name: "disable", Type: names, Summary: "plugins to disable"},
			{Name: "default", Type: names, Summary: "plugins to remove from both lists"},
		},
		Parts:      target.PodTemplate,
		Components: []string{"kube-apiserver"},
		Compile:    compileAdmissionPlugins,
	}
}

func compileAdmissionPlugins(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a struct {
		Enable  []source.Node `json:"enable"`
		Disable []source.Node `json:"disable"`
		Default []source.Node `json:"default"`
	}
	if findings := source.Decode(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	if c.Target.Component != "kube-apiserver" {
		return nil, source.Findings{arguments.Finding(path, "only a kube-apiserver has admission plugins").Of(WrongTarget)}
	}
	place := Place{Kind: AdmissionPlugin, Container: c.container("")}
	enabled, findings := compileItems(a.Enable, path+".enable", place, Fixed("enabled"))
	disabled, problems := compileItems(a.Disable, path+".disable", place, Fixed("disabled"))
	unset, more := compileItems(a.Default, path+".default", place, Remove())
	writes := slices.Concat(enabled, disabled, unset)
	for i := range writes {
		writes[i].Apply = applyAdmissionPlugin(place.Container, writes[i].Place.Name)
	}
	if findings = slices.Concat(findings, problems, more); len(writes)+len(findings) == 0 {
		findings = append(findings, arguments.Finding(path, "names no admission plugin: one of enable, disable and default is needed").Of(NothingToDo))
	}
	return writes, findings
}

func applyAdmissionPlugin(container, plugin string) func(*target.Object, Resolved) error {
	return func(o *target.Object, v Resolved) error {
		add, remove := "", []string{enablePlugins, disablePlugins}
		switch v.Text() {
		case "enabled":
			add, remove = enablePlugins, []string{disablePlugins}
		case "disabled":
			add, remove = disablePlugins, []string{enablePlugins}
		}
		for _, flag := range remove {
			if err := removeListItem(o, container, flag, plugin); err != nil {
				return err
			}
		}
		if add == "" {
			return nil
		}
		return addListItem(o, container, add, plugin)
	}
}
