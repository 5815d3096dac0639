// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import "strings"

// Versions are those of which control planes are generated where somebody asks for several, or names no patch: one of each minor
// version that Gardener's code here knows.
func Versions() []string { return []string{"1.31.14", "1.32.10", "1.33.6", "1.34.2"} }

// Patched completes a minor version, such as 1.33, by the patch that Versions has. Any other text stays as it is.
func Patched(version string) string {
	for _, known := range Versions() {
		if Minor(known) == version {
			return known
		}
	}
	return version
}

// Minor is a version without its patch.
func Minor(version string) string {
	end := strings.LastIndexByte(version, '.')
	if end < 0 {
		return version
	}
	return version[:end]
}
