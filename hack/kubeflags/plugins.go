// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// pluginHelp matches the help of --enable-admission-plugins, which lists the default plugins and then all
// (kubernetes: staging/src/k8s.io/apiserver/pkg/server/options/admission.go).
var pluginHelp = regexp.MustCompile(`default enabled ones \(([\w, ]+)\)\. Comma-delimited list of admission plugins: ([\w, ]+)\.`)

// pluginsOf parses the help of --enable-admission-plugins: each plugin, and whether it is enabled by default.
func pluginsOf(help string) (map[string]bool, error) {
	match := pluginHelp.FindStringSubmatch(help)
	if match == nil {
		return nil, fmt.Errorf("the help of --enable-admission-plugins lists no plugins: %q", help)
	}
	on := strings.Split(match[1], ", ")
	plugins := map[string]bool{}
	for _, name := range strings.Split(match[2], ", ") {
		plugins[name] = slices.Contains(on, name)
	}
	return plugins, nil
}

// mergePlugins returns an entry for each admission plugin of kube-apiserver.
func mergePlugins(dumps []dump) (map[string]kubeflags.PluginHistory, error) {
	const apiserver = "kube-apiserver"
	known := map[string]map[string]bool{}
	for _, d := range dumps {
		plugins, err := pluginsOf(d.parts[apiserver].Plugins)
		if err != nil {
			return nil, fmt.Errorf("kube-apiserver of %s: %w", d.release, err)
		}
		known[d.parts[apiserver].Plugins] = plugins
	}
	merged := map[string]kubeflags.PluginHistory{}
	for _, d := range dumps {
		for name, on := range known[d.parts[apiserver].Plugins] {
			s, err := span(dumps, func(p part) bool { _, ok := known[p.Plugins][name]; return ok }, apiserver)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			merged[name] = kubeflags.PluginHistory{Span: s, Default: on}
		}
	}
	return merged, nil
}
