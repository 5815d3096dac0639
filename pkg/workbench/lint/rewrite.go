// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"

	"znkr.io/diff/textdiff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/whole"
)

// Write puts the fixed text in the place of the file: all of it or nothing. Permissions stay, and so does a symbolic link to it.
func (r Repaired) Write() error {
	now, err := disk.ReadFile(r.Name, maximumSize)
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	if !bytes.Equal(now, r.Before) {
		return fmt.Errorf("writing %s: it has changed since it was read", r.Name)
	}
	if err := whole.Write(r.Name, r.After); err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	return nil
}

// Diff returns the fixes as a unified diff.
func (r Repaired) Diff() string {
	return fmt.Sprintf("--- %s\n+++ %s\n%s", r.Name, r.Name, textdiff.Unified(string(r.Before), string(r.After)))
}
