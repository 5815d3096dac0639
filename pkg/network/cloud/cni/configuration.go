// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
)

// plugin is an IPAM plugin with its standard input.
type plugin struct {
	// name is the name of the program, and path where it is.
	name, path string
	// network and version are the name and the version of the network configuration.
	network, version string
	configuration    *libcni.PluginConfig
	options          Options
}

// load reads the configuration with a name. It ignores invalid files of the folder, unless no file has the name.
func load(o Options, name string) (*plugin, error) {
	list, err := find(o.Configurations, name)
	if err != nil {
		return nil, err
	}
	for _, candidate := range list.Plugins {
		if candidate.Network.IPAM.Type == "" {
			continue
		}
		p := &plugin{name: candidate.Network.IPAM.Type, network: list.Name, version: list.CNIVersion, configuration: candidate, options: o}
		if p.path, err = invoke.FindInPath(p.name, filepath.SplitList(o.Plugins)); err != nil {
			return nil, configurationError("%s names the IPAM plugin %s, which is not in %s", name, p.name, o.Plugins)
		}
		return p, nil
	}
	return nil, configurationError("%s has no plugin with an ipam section", name)
}

// find reads the files of a folder in the order of their names, lists first, as container runtimes do.
func find(folder, name string) (*libcni.NetworkConfigList, error) {
	lists, err := libcni.ConfFiles(folder, []string{".conflist"})
	if err != nil {
		return nil, fmt.Errorf("reading the folder of CNI network configurations: %w", err)
	}
	singles, err := libcni.ConfFiles(folder, []string{".conf", ".json"})
	if err != nil {
		return nil, fmt.Errorf("reading the folder of CNI network configurations: %w", err)
	}
	var broken []string
	for _, file := range append(lists, singles...) {
		list, err := read(file)
		if err != nil {
			broken = append(broken, filepath.Base(file))
		} else if list.Name == name {
			return list, nil
		}
	}
	if len(broken) > 0 {
		return nil, configurationError("%s is not in %s; unreadable files there: %s", name, folder, strings.Join(broken, ", "))
	}
	return nil, configurationError("%s is not in %s", name, folder)
}

// read reads a list, with its plugins in other files, or the configuration of a single plugin.
func read(file string) (*libcni.NetworkConfigList, error) {
	if filepath.Ext(file) == ".conflist" {
		return libcni.NetworkConfFromFile(file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	single, err := libcni.NetworkPluginConfFromBytes(raw)
	if err != nil {
		return nil, err
	}
	return &libcni.NetworkConfigList{Name: single.Network.Name, CNIVersion: single.Network.CNIVersion, Plugins: []*libcni.PluginConfig{single}}, nil
}

// configurationError returns an error about the configuration or the plugin.
func configurationError(format string, arguments ...any) error {
	return fmt.Errorf("the CNI network configuration "+format, arguments...)
}
