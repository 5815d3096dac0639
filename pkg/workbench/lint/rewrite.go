// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"znkr.io/diff/textdiff"
)

// Write puts the mended text in the place of the file: all of it or nothing. Permissions stay, and so does a symbolic link to it.
func (r Repaired) Write() (err error) {
	name, err := filepath.EvalSymlinks(r.Name)
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	now, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	if !bytes.Equal(now, r.Before) {
		return fmt.Errorf("writing %s: it has changed since it was read", r.Name)
	}
	beside, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(beside.Name())
		}
	}()
	if err := put(beside, r.After, info.Mode()); err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, cause(err))
	}
	if err := os.Rename(beside.Name(), name); err != nil {
		return fmt.Errorf("writing %s: %w", r.Name, err)
	}
	return nil
}

func put(file *os.File, data []byte, mode os.FileMode) error {
	_, err := file.Write(data)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if problem := file.Close(); err == nil {
		err = problem
	}
	return err
}

// Diff is what was mended as a unified diff.
func (r Repaired) Diff() string {
	return fmt.Sprintf("--- %s\n+++ %s\n%s", r.Name, r.Name, textdiff.Unified(string(r.Before), string(r.After)))
}
