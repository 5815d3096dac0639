// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Merge applies a merge patch (RFC 7386) to an object; both may be missing.
func Merge(object, patch []byte) ([]byte, error) {
	switch {
	case len(patch) == 0:
		return object, nil
	case len(object) == 0:
		return patch, nil
	}
	merged, err := jsonpatch.MergePatch(object, patch)
	if err != nil {
		return nil, fmt.Errorf("merging: %w", err)
	}
	return merged, nil
}
