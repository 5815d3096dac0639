// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
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
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the folder of CNI network configurations: %w", err)
	}
	var broken []string
	for _, extensions := range [][]string{{".conflist"}, {".conf", ".json"}} {
		for _, entry := range entries {
			if entry.IsDir() || !slices.Contains(extensions, filepath.Ext(entry.Name())) {
				continue
			}
			list, err := read(folder, entry.Name())
			if err != nil {
				broken = append(broken, entry.Name())
			} else if list.Name == name {
				return list, nil
			}
		}
	}
	if len(broken) > 0 {
		return nil, configurationError("%s is not in %s; unreadable files there: %s", name, folder, strings.Join(broken, ", "))
	}
	return nil, configurationError("%s is not in %s", name, folder)
}

func read(folder, name string) (*libcni.NetworkConfigList, error) {
	raw, err := disk.ReadInside(folder, name, disk.DocumentSize)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(name) == ".conflist" {
		return readList(folder, raw)
	}
	single, err := libcni.NetworkPluginConfFromBytes(raw)
	if err != nil {
		return nil, err
	}
	return &libcni.NetworkConfigList{Name: single.Network.Name, CNIVersion: single.Network.CNIVersion, Plugins: []*libcni.PluginConfig{single}}, nil
}

// readList reads a list with its plugins in the files of a folder with its name (CNI specification 1.1,
// libcni.NetworkConfFromFile).
func readList(folder string, raw []byte) (*libcni.NetworkConfigList, error) {
	list, err := libcni.NetworkConfFromBytes(raw)
	if err != nil || list.LoadOnlyInlinedPlugins {
		return list, err
	}
	files, err := libcni.ConfFiles(filepath.Join(folder, list.Name), []string{".conf"})
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		raw, err := disk.ReadInside(folder, filepath.Join(list.Name, filepath.Base(file)), disk.DocumentSize)
		if err != nil {
			return nil, err
		}
		plugin, err := libcni.NetworkPluginConfFromBytes(raw)
		if err != nil {
			return nil, err
		}
		list.Plugins = append(list.Plugins, plugin)
	}
	return list, nil
}
