// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package whole writes files whole: whoever reads one meanwhile, and whoever finds it after an interruption, has all of the text
// before or all of the new one. Enter at Write.
package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Mode is that of a file that was not there before: for everybody to read, as what is in a repository.
const Mode fs.FileMode = 0o644

// Write puts data in the place of a file; the folder that it is in must be there. A file that is there keeps its permissions, and
// a symbolic link stays one. What is no file, such as a terminal or a pipe, is written to. The error is an fs.PathError of path.
func Write(path string, data []byte) error {
	err := write(path, data)
	if err == nil {
		return nil
	}
	var (
		file *fs.PathError
		link *os.LinkError
	)
	switch {
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}

func write(path string, data []byte) (err error) {
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
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(beside.Name())
		}
	}()
	_, err = beside.Write(data)
	for _, step := range []func() error{func() error { return beside.Chmod(mode) }, beside.Sync} {
		if err == nil {
			err = step()
		}
	}
	if closed := beside.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(beside.Name(), path)
}

// WriteDeep is Write, and makes the folders that the file is in.
func WriteDeep(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- for everybody, as its files are
		return err
	}
	return Write(path, data)
}
