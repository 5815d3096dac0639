// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package disk reads files from untrusted folders: only regular files, up to a maximum size, and only inside the given
// folder. A link, a device or a pipe in a folder of profiles must not disclose another file, exhaust memory or block.
// Start reading at ReadInside. Replace writes a file.
package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Maximum file sizes in bytes.
const (
	// DocumentSize limits profiles, files next to them, and configurations. A ConfigMap has at most 1 MiB.
	DocumentSize = 4 << 20
	// CertificateSize limits certificates, keys, tokens and CA bundles, which come from Secrets of at most 1 MiB.
	CertificateSize = 1 << 20
)

// Errors that an fs.PathError of this package wraps.
var (
	// ErrOutside is returned for a link that leaves the folder.
	ErrOutside = errors.New("it is or contains a link that leads out of the folder: links must be relative, and stay inside")
	// ErrNotRegular is returned for folders, pipes, sockets and devices.
	ErrNotRegular = errors.New("only regular files are read")
	// ErrTooLarge is returned for a file above its maximum size.
	ErrTooLarge = errors.New("it is too large")
)

// ReadInside reads a file by its path relative to a folder. Links inside the folder are followed, as a mounted
// ConfigMap has them. The folder itself may be a link. It fails for links that leave the folder, for anything except
// regular files, and above the limit in bytes.
func ReadInside(folder, name string, limit int64) ([]byte, error) {
	file, size, err := open(folder, name)
	return read(file, size, limit, filepath.Join(folder, name), err)
}

// ReadFile reads the regular file at a path from a configuration or a flag, and follows all links. It fails for any
// other type of file, and for more bytes than limit.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, size, err := openRegular(path, os.Stat, os.OpenFile)
	return read(file, size, limit, path, err)
}

// ReadStream reads a path from a command line until the end: a regular file, or a pipe such as /dev/stdin. It fails for
// a folder, and for more bytes than limit.
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

// ReadFS reads a regular file of a file system, by its path with slashes. Whether links stay inside is up to the file
// system: those of os.Root do, those of os.DirFS need not. It fails for any other type of file, and for more bytes than
// limit.
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

// CheckInside returns an error if one of the files exists but ReadInside would refuse it. Use it for files that a
// library opens by path.
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
	// With a trailing slash, open(2) fails for anything except folders. Without it, opening a pipe blocks until it has a
	// writer.
	root, err := os.OpenRoot(filepath.Clean(folder) + string(filepath.Separator))
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	file, size, err := openRegular(filepath.FromSlash(name), root.Stat, root.OpenFile)
	if errno := syscall.Errno(0); err != nil && !errors.As(err, &errno) && !errors.Is(err, ErrNotRegular) {
		err = ErrOutside // os.Root does not export this error; its other errors contain an errno
	}
	return file, size, err
}

// openRegular opens a regular file. It checks the type before opening, since opening a device can have side effects,
// and again afterwards.
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

// read returns the content of an open file and closes it. It fails if the file has, or grows to, more than limit bytes.
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

// Replace writes a file atomically, and waits until it is stored. If it fails, the old content stays.
func Replace(path string, text []byte, mode fs.FileMode) error {
	return ReplaceWith(path, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ReplaceWith works like Replace with the text that a function writes. It fails with the error of this function, or with an
// fs.PathError of path.
func ReplaceWith(path string, mode fs.FileMode, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return writeError(path, err)
	}
	err = cmp.Or(write(replacement{file, path}), file.Chmod(mode), file.Sync())
	err = cmp.Or(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error explains more
	}
	return writeError(path, err)
}

// replacement is the new content of a file, in a temporary file.
type replacement struct {
	file *os.File
	path string
}

// Write implements io.Writer. Its errors name the file that is replaced.
func (r replacement) Write(text []byte) (int, error) {
	n, err := r.file.Write(text)
	return n, writeError(r.path, err)
}

// writeError returns an error of the system as an fs.PathError of the file that was to be written, and others unchanged.
func writeError(path string, err error) error {
	switch e := err.(type) { //nolint:errorlint // a wrapped error comes from the caller's function
	case *fs.PathError:
		return &fs.PathError{Op: "write", Path: path, Err: e.Err}
	case *os.LinkError:
		return &fs.PathError{Op: "write", Path: path, Err: e.Err}
	default:
		return err
	}
}
