// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package disk reads files that others may have put there: regular ones only, of a bounded size, and inside the folder that was
// named. A link, a device or a pipe in a folder of profiles must neither show a file from elsewhere, nor exhaust memory, nor block.
// It knows nothing of what is in the files. Enter at ReadInside.
package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Sizes up to which files are read, in bytes.
const (
	// DocumentSize is that of a profile, a file beside it, and a configuration: a ConfigMap holds 1 MiB at most.
	DocumentSize = 4 << 20
	// CertificateSize is that of a certificate, a key, a token, or a bundle of CAs.
	CertificateSize = 1 << 20
)

// Errors that an fs.PathError of this package wraps.
var (
	// ErrOutside means that a link leads out of the folder.
	ErrOutside = errors.New("it is or contains a link that leads out of the folder: links must be relative, and stay inside")
	// ErrNotRegular means that something is no regular file.
	ErrNotRegular = errors.New("only regular files are read")
	// ErrTooLarge means that a file is larger than its limit.
	ErrTooLarge = errors.New("it is too large")
)

// ReadInside reads a file below a folder, by its path from there. Links in it may lead to other places of the folder, as those of a
// mounted ConfigMap do. The folder itself may be a link.
func ReadInside(folder, name string, limit int64) ([]byte, error) {
	file, size, err := open(folder, name)
	return read(file, size, limit, filepath.Join(folder, name), err)
}

// Beginning returns the first bytes, at most limit, of a file below a folder, which it opens as ReadInside does.
func Beginning(folder, name string, limit int64) ([]byte, error) {
	file, _, err := open(folder, name)
	if err != nil {
		return nil, pathError(filepath.Join(folder, name), err)
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit))
}

// ReadFile reads the regular file at a path that a configuration or a flag names, wherever links lead.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, size, err := openRegular(path, os.Stat, os.OpenFile)
	return read(file, size, limit, path, err)
}

// ReadStream reads what somebody names on a command line: a regular file, or a pipe such as /dev/stdin, until it ends.
func ReadStream(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path) // #nosec G304 -- a pipe of the user's own
	if err != nil {
		return nil, pathError(path, err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = checkRegular(info)
	}
	if err != nil {
		_ = file.Close()
		return nil, pathError(path, err)
	}
	return read(file, info.Size(), limit, path, nil)
}

// ReadFS reads a regular file of a file system, by its path with slashes. Whether links stay inside is up to the file system: those of
// os.Root do, those of os.DirFS need not.
func ReadFS(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, pathError(name, err)
	}
	if info.Size() > limit {
		return nil, pathError(name, tooLarge(limit))
	}
	return fs.ReadFile(files, name)
}

// CheckInside returns an error if one of the names below a folder exists and ReadInside would not open it. It is for files that a library
// opens by their paths.
func CheckInside(folder string, names ...string) error {
	for _, name := range names {
		file, _, err := open(folder, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return pathError(filepath.Join(folder, name), err)
		default:
			_ = file.Close()
		}
	}
	return nil
}

func open(folder, name string) (*os.File, int64, error) {
	// With the slash behind it, opening what is no folder fails, and does not wait for a writer of a pipe.
	root, err := os.OpenRoot(filepath.Clean(folder) + string(filepath.Separator))
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	file, size, err := openRegular(filepath.FromSlash(name), root.Stat, root.OpenFile)
	if errno := syscall.Errno(0); err != nil && !errors.As(err, &errno) && !errors.Is(err, ErrNotRegular) {
		err = ErrOutside // which os.Root says without exporting its error; all others are of the kernel
	}
	return file, size, err
}

// openRegular opens a regular file. The kind is asked for before, as opening a device may have effects, and again when the file is open.
func openRegular(
	name string, stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error),
) (*os.File, int64, error) {
	info, err := stat(name)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, 0, err
	}
	file, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

func checkRegular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("it is a folder: %w", ErrNotRegular)
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("it is a pipe: %w", ErrNotRegular)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("it is a socket: %w", ErrNotRegular)
	default:
		return fmt.Errorf("it is a device: %w", ErrNotRegular)
	}
}

// read reads an open file and closes it. One whose size is above the limit is not read, and one that grows only up to the limit.
func read(file *os.File, size, limit int64, path string, err error) ([]byte, error) {
	if err != nil {
		return nil, pathError(path, err)
	}
	defer func() { _ = file.Close() }()
	var data bytes.Buffer
	if size <= limit {
		data.Grow(int(size) + bytes.MinRead)
		_, err = data.ReadFrom(io.LimitReader(file, limit+1))
	}
	if size > limit || int64(data.Len()) > limit {
		return nil, pathError(path, tooLarge(limit))
	}
	if err != nil {
		return nil, pathError(path, err)
	}
	return data.Bytes(), nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: at most %d bytes are read", ErrTooLarge, limit)
}

// pathError returns an error with the path as the caller knows it.
func pathError(path string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	operation := "read"
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		operation = "open"
	}
	return &fs.PathError{Op: operation, Path: path, Err: err}
}
