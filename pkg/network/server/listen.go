// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// listen opens the address, or takes it from the sockets of systemd.
func (l *Listener) listen(ctx context.Context, named map[string][]net.Listener) (net.Listener, error) {
	switch l.Network {
	case "unix":
		return l.listenUnix(ctx)
	case networkSystemd:
		return l.listenSystemd(named)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, l.Network, l.Address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return listener, nil
}

// socket is a listener that removes its file on Close, unless another server has replaced the file.
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
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // other users must reach a socket that they own
		return nil, fmt.Errorf("making the folder of the socket: %w", err)
	}
	unlock, err := lockFolder(folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := checkFree(ctx, l.Address); err != nil {
		return nil, err
	}
	first := filepath.Join(folder, "."+strconv.Itoa(os.Getpid()))
	_ = os.Remove(first)
	// Linux creates the file with the mode of the socket, reduced by the umask of the program.
	limited := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), uint32(l.Mode.Perm())) })
		return errors.Join(err, failed)
	}}
	opened, err := limited.Listen(ctx, "unix", first)
	if err != nil {
		return nil, fmt.Errorf("opening the socket: %w", err)
	}
	listener := opened.(*net.UnixListener)
	listener.SetUnlinkOnClose(false)
	err = os.Chmod(first, l.Mode)
	if err == nil && (l.UID >= 0 || l.GID >= 0) {
		err = os.Chown(first, l.UID, l.GID)
	}
	var file fs.FileInfo
	if err == nil {
		file, err = os.Lstat(first)
	}
	if err == nil {
		err = os.Rename(first, l.Address)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the socket: %w", err), listener.Close(), os.Remove(first))
	}
	return &socket{listener, l.Address, file}, nil
}

// checkFree returns an error unless a path is free: it does not exist, or is a socket of a dead server.
func checkFree(ctx context.Context, path string) error {
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the socket: %w", err)
	}
	if there.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("opening the socket: %s exists and is not a socket: remove it, or choose another path", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("opening the socket: another server answers at %s", path), connection.Close())
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("opening the socket: cannot check whether another server answers at %s: %w", path, err)
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

// networkSystemd is the network of sockets that systemd has opened. The address is the name of the socket.
const networkSystemd = "systemd"

// listenSystemd takes a socket over from systemd (sd_listen_fds(3)). Its file stays after Close, clients wait in it until
// the next start, and its unit sets mode and owner.
func (l *Listener) listenSystemd(named map[string][]net.Listener) (net.Listener, error) {
	sockets := named[l.Address]
	switch len(sockets) {
	case 0:
		return nil, fmt.Errorf("systemd has passed no socket with the FileDescriptorName %s: there is %s", l.Address,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(named)), ", "), "none"))
	case 1:
		delete(named, l.Address)
	default:
		return nil, fmt.Errorf("systemd has passed %d sockets with the FileDescriptorName %s: each needs a unit with a name of its own",
			len(sockets), l.Address)
	}
	if err := l.checkExposure(sockets[0].Addr()); err != nil {
		return nil, errors.Join(err, sockets[0].Close())
	}
	return sockets[0], nil
}

// checkExposure returns an error if other machines or all users can connect without a permission in the configuration.
// With the permission, it marks the listener as insecure.
func (l *Listener) checkExposure(address net.Addr) error {
	var problem error
	switch at := address.(type) {
	case *net.UnixAddr:
		problem = checkSocketMode(at.Name)
	case *net.TCPAddr:
		if l.TLS == nil && !at.IP.IsLoopback() {
			problem = fmt.Errorf("%s is not a loopback address: add tls, or set insecure: true", at)
		} else if l.Certificates && (l.TLS == nil || l.TLS.ClientCAFile == "") {
			problem = fmt.Errorf("%s needs tls with clientCAFile, or insecure: true", at)
		}
	default:
		return fmt.Errorf("sockets of kind %s are not supported", address.Network())
	}
	if problem != nil && l.Permit {
		l.Insecure, problem = true, nil
	}
	return problem
}

// everybody is the permission bit with which all users of the machine can connect to a socket (unix(7)).
const everybody fs.FileMode = 0o002

// checkSocketMode returns an error for a socket that all users of the machine can open, which is the default of
// systemd. A socket without a path has no mode.
func checkSocketMode(path string) error {
	if path == "" || strings.HasPrefix(path, "@") {
		return errors.New("the socket is abstract, so that all users of the machine can open it: give it a path, or add insecure: true")
	}
	there, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("looking at the socket: %w", err)
	}
	if there.Mode()&everybody != 0 {
		return fmt.Errorf("%s has the mode %04o, so that all users of the machine can open it: write SocketMode=0600 in its unit, or add insecure: true",
			path, there.Mode().Perm())
	}
	return nil
}
