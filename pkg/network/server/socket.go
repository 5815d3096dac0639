// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// listen opens the address.
func (l *Listener) listen(ctx context.Context) (net.Listener, error) {
	switch l.Network {
	case "unix":
		return l.listenUnix(ctx)
	case networkSystemd:
		return l.listenSystemd()
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, l.Network, l.Address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return listener, nil
}

// socket removes its file when it is closed, unless another server has put its own there.
type socket struct {
	*net.UnixListener
	path string
	file fs.FileInfo
}

// Close implements net.Listener.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err
	}
	if there, missing := os.Lstat(s.path); missing == nil && os.SameFile(there, s.file) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// listenUnix creates a socket under a temporary name and renames it after setting its mode and owner, so that no client
// can connect earlier. It replaces the socket of a dead server.
func (l *Listener) listenUnix(ctx context.Context) (net.Listener, error) {
	folder := filepath.Dir(l.Address)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // others must reach a socket that is theirs
		return nil, fmt.Errorf("making the folder of the socket: %w", err)
	}
	unlock, err := lockFolder(folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := vacant(ctx, l.Address); err != nil {
		return nil, err
	}
	first := filepath.Join(folder, "."+strconv.Itoa(os.Getpid()))
	_ = os.Remove(first)
	opened, err := (&net.ListenConfig{Control: l.restrict}).Listen(ctx, "unix", first)
	if err != nil {
		return nil, fmt.Errorf("opening the socket: %w", err)
	}
	listener := opened.(*net.UnixListener)
	listener.SetUnlinkOnClose(false)
	file, err := l.settle(first)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the socket: %w", err), listener.Close(), os.Remove(first))
	}
	return &socket{listener, l.Address, file}, nil
}

// restrict gives the socket its mode before it has any name (Linux makes the file with the mode of the socket).
func (l *Listener) restrict(_, _ string, raw syscall.RawConn) error {
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), uint32(l.Mode.Perm())) }); err != nil {
		return err
	}
	return failed
}

// settle gives the socket its mode, which the umask of the program may have narrowed, its owner and then its name.
func (l *Listener) settle(first string) (fs.FileInfo, error) {
	if err := os.Chmod(first, l.Mode); err != nil {
		return nil, err
	}
	if l.UID >= 0 || l.GID >= 0 {
		if err := os.Chown(first, l.UID, l.GID); err != nil {
			return nil, err
		}
	}
	file, err := os.Lstat(first)
	if err != nil {
		return nil, err
	}
	return file, os.Rename(first, l.Address)
}

// vacant returns an error unless a path is free: it does not exist, or is a socket of a dead server.
func vacant(ctx context.Context, path string) error {
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the socket: %w", err)
	}
	if there.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("opening the socket: %s is there and no socket", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("opening the socket: another server answers at %s", path), connection.Close())
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("opening the socket: whether another server answers at %s is not known: %w", path, err)
	}
}

// lockFolder keeps two servers from taking over the same path at the same time.
func lockFolder(path string) (unlock func(), err error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the socket: %w", err)
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the folder of the socket: %w", err), folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}
