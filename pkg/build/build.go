// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package build returns the version of a program.
package build

import "runtime/debug"

// Version returns the version and commit that the linker has set, or the module version that Go wrote into the binary.
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
