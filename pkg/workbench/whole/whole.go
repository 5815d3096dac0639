// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package whole writes files atomically: concurrent readers, and readers after an interruption, see either the complete
// old text or the complete new one. Start reading at Write.
package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// Mode is the mode of a new file: readable for all users, like files in a repository.
const Mode fs.FileMode = 0o644

// Write replaces the content of a file in an existing folder. An existing file keeps its permissions, and a symbolic
// link stays one. It writes directly to a terminal or a pipe. The error is an fs.PathError of the file.
func Write(path string, data []byte) error {
	mode := Mode
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(path, data, mode)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return disk.Replace(path, data, mode)
}

// WriteDeep works like Write, and creates the parent folders. It fails like Write, or if a folder cannot be created.
func WriteDeep(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- for everybody, as its files are
		return err
	}
	return Write(path, data)
}
