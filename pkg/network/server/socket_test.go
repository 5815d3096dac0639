// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func unix(path string, mode fs.FileMode) *Listener {
	return &Listener{Network: "unix", Address: path, Mode: mode, UID: -1, GID: -1}
}

// TestSocketFolderAndMode checks that the folder is created, that the socket has its mode, and that it is removed on close.
func TestSocketFolderAndMode(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o660, 0o666} {
		path := filepath.Join(t.TempDir(), "some", "folder", "s.sock")
		l := unix(path, mode)
		l.UID, l.GID = os.Getuid(), os.Getgid()
		listener, err := l.listen(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		there, err := os.Stat(path)
		if err != nil || there.Mode().Perm() != mode || there.Mode().Type() != fs.ModeSocket {
			t.Errorf("want %v, there is %v, %v", mode, there, err)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(left) != 0 {
			t.Errorf("want no sockets to remain, got %v, %v", left, err)
		}
	}
}

// TestSocketOfDeadServerIsReplaced checks that the socket of a dead server is replaced, but no live socket and no other file.
func TestSocketOfDeadServerIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if _, err := unix(path, 0o600).listen(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "another server answers at "+path) {
		t.Fatalf("want an error for a socket in use, got %v", err)
	}
	_ = dead.Close()
	first, err := unix(path, 0o600).listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix(path, 0o600).listen(t.Context(), nil); err == nil {
		t.Fatal("a second server listens on a used socket, want an error")
	}
	// Another process replaces the path: its socket must not be removed.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := unix(path, 0o600).listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket of another server was removed: %v", err)
	}
	_ = second.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket still exists: %v", err)
	}
	write(t, path, []byte("x"))
	if _, err := unix(path, 0o600).listen(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "exists and is not a socket") {
		t.Errorf("a file: %v", err)
	}
}

// TestOneOfManyServersGetsTheSocket checks that one of many concurrently starting servers gets the path.
func TestOneOfManyServersGetsTheSocket(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	path := filepath.Join(folder, "s.sock")
	var (
		work  sync.WaitGroup
		mutex sync.Mutex
		got   []net.Listener
	)
	for range 16 {
		work.Go(func() {
			if l, err := unix(path, 0o600).listen(t.Context(), nil); err == nil {
				mutex.Lock()
				defer mutex.Unlock()
				got = append(got, l)
			}
		})
	}
	work.Wait()
	if len(got) != 1 {
		t.Errorf("%d servers have the socket", len(got))
	}
	for _, l := range got {
		_ = l.Close()
	}
}
