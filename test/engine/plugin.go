// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Managed is the name of the managed plugin in networks: unlike the name of a socket, it has a tag.
const Managed = "graft:latest"

// Plug installs and enables a managed plugin from a folder that hack/plugin/plugin.sh has written. The plugin reads the
// machine's folder etc, and writes the folder state.
func (d *Dockerd) Plug(ctx context.Context, folder string, arguments ...string) error {
	configuration, state := filepath.Join(d.machine.Folder, "etc"), filepath.Join(d.machine.Folder, "state")
	for _, path := range []string{configuration, state} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("making folders for the plugin: %w", err)
		}
	}
	set := []string{"plugin", "set", Managed, "configuration.source=" + configuration, "state.source=" + state}
	for _, command := range [][]string{{"plugin", "create", Managed, folder}, append(set, arguments...),
		{"plugin", "enable", Managed}} {
		if _, err := d.Do(ctx, command...); err != nil {
			return fmt.Errorf("docker %s: %w", command[1], err)
		}
	}
	return nil
}
