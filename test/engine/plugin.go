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

// Managed is the name that networks name the managed plugin by: unlike a socket's, it has a tag.
const Managed = "graft:latest"

// Plug makes a managed plugin of a folder that hack/plugin/plugin.sh has written, and enables it. What it reads is in
// the folder etc of the machine's, and what it keeps in the folder state.
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
