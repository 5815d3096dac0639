// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"errors"
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// ErrVersion is wrapped by the error of a version of which no control plane is generated.
var ErrVersion = errors.New("no such version of Kubernetes")

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

// Known completes a version as Patched does, and refuses what is then no whole version, such as a minor version that is not known.
// Whole versions are for the generator to judge: it knows older ones than these. The error wraps ErrVersion.
func Known(version string) (string, error) {
	patched := Patched(version)
	if _, err := semver.StrictNewVersion(patched); err == nil || version == "" {
		return patched, nil
	}
	all := Versions()
	first, last := all[0], all[len(all)-1]
	return "", fmt.Errorf("%w: %s; control planes are generated of %s to %s, such as %s", ErrVersion, version, Minor(first), Minor(last), last)
}

// Minor is a version without its patch; what is no version stays as it is.
func Minor(version string) string {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
}
