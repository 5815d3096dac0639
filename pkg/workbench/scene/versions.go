// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"errors"
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// ErrVersion is wrapped by the error for an unsupported version.
var ErrVersion = errors.New("no such version of Kubernetes")

// Versions returns the default versions of generated control planes: one patch version of each supported minor version.
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

// Known completes a version like Patched, and refuses an incomplete result, such as an unknown minor version. The
// generator validates complete versions, because it supports older ones than these. The error wraps ErrVersion.
func Known(version string) (string, error) {
	patched := Patched(version)
	if _, err := semver.StrictNewVersion(patched); err == nil || version == "" {
		return patched, nil
	}
	all := Versions()
	first, last := all[0], all[len(all)-1]
	return "", fmt.Errorf("%w: %s; control planes are generated of %s to %s, such as %s", ErrVersion, version, Minor(first), Minor(last), last)
}

// Minor returns a version without its patch, or the text itself if it is not a version.
func Minor(version string) string {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
}
