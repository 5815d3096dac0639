// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package build says from what a program was built. Enter at Version.
package build

import "runtime/debug"

// Version is the version and commit that the linker gave, or else what Go wrote into the binary.
func Version(version, commit string) string {
	if version == "" {
		version = "unknown"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			version = info.Main.Version
		}
	}
	if commit != "" {
		version += " (" + commit + ")"
	}
	return version
}
