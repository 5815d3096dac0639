// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kubeflags

import "slices"

// PluginHistory is the history of an admission plugin of kube-apiserver.
type PluginHistory struct {
	Span
	// Default says that kube-apiserver enables the plugin unless it is told otherwise, in the newest version that has it.
	Default bool `json:"default,omitempty"`
}

// Plugin returns the history of an admission plugin; false when no version in the table has it.
func Plugin(name string) (PluginHistory, bool) {
	history, ok := load().Plugins[name]
	return history, ok
}

// Plugins returns the names of the admission plugins of kube-apiserver in a version, sorted.
func Plugins(m Minor) []string {
	var names []string
	for name, history := range load().Plugins {
		if history.In(m) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// formerPlugins are admission plugins from before the oldest version of the table, with the last version that had them
// (kubernetes: pkg/kubeapiserver/options/plugins.go of v1.24.17, v1.29.6 and v1.30.14).
var formerPlugins = map[string]Minor{"PersistentVolumeLabel": 30, "PodSecurityPolicy": 24, "SecurityContextDeny": 29}

// FormerPlugin returns the last version before the table that had an admission plugin; false when no such plugin is known.
func FormerPlugin(name string) (Minor, bool) {
	had, ok := formerPlugins[name]
	return had, ok
}
