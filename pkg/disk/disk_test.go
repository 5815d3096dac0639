// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// must fails the test with an error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// layout creates a folder with files, links and other kinds of files, and a token outside of it.
func layout(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "disk") // sockets have short paths
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	in := func(name string) string { return filepath.Join(base, "in", name) }
	must(t, os.MkdirAll(in("..2026_11/deep"), 0o755),
		os.WriteFile(filepath.Join(base, "token"), []byte("secret"), 0o600),
		os.WriteFile(in("..2026_11/a"), []byte("1234"), 0o600), os.WriteFile(in("..2026_11/deep/b"), []byte("b"), 0o600),
		os.Symlink("..2026_11", in("..data")), os.Symlink("..data/a", in("a")), os.Symlink("..data/deep", in("deep")),
		os.Symlink("../token", in("out")), os.Symlink(filepath.Join(base, "token"), in("absolute")), os.Symlink("..", in("up")),
		os.Symlink(in("a"), in("absolute-inside")),
		os.Symlink("loop", in("loop")), os.Symlink("none", in("broken")), os.Symlink("/dev/zero", in("zero")),
		os.Symlink("in", filepath.Join(base, "linked")),
		syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("pipe", in("to-pipe")))
	listener, err := net.Listen("unix", in("socket"))
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	large, err := os.Create(in("large"))
	must(t, err, large.Truncate(1<<40), large.Close())
	return base
}

// TestReadInside checks which files of a folder are read, and the error for every other kind of file. No read blocks.
func TestReadInside(t *testing.T) {
	base := layout(t)
	for name, test := range map[string]struct {
		want string
		err  error
	}{
		"..2026_11/a": {want: "1234"}, "a": {want: "1234"}, "deep/b": {want: "b"}, "..data/deep/b": {want: "b"},
		"out": {err: disk.ErrOutside}, "absolute": {err: disk.ErrOutside}, "absolute-inside": {err: disk.ErrOutside},
		"up/token": {err: disk.ErrOutside}, "../token": {err: disk.ErrOutside}, "/etc/passwd": {err: disk.ErrOutside},
		"loop": {err: syscall.ELOOP}, "broken": {err: fs.ErrNotExist}, "zero": {err: disk.ErrOutside},
		"pipe": {err: disk.ErrNotRegular}, "to-pipe": {err: disk.ErrNotRegular}, "socket": {err: disk.ErrNotRegular},
		"deep": {err: disk.ErrNotRegular}, ".": {err: disk.ErrNotRegular}, "pipe/x": {err: syscall.ENOTDIR}, "large": {err: disk.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			for _, folder := range []string{"in", "linked"} {
				got, err := disk.ReadInside(filepath.Join(base, folder), name, 4)
				if string(got) != test.want || !errors.Is(err, test.err) {
					t.Errorf("got %q, %v", got, err)
				}
				if err != nil && !strings.Contains(err.Error(), filepath.Join(base, folder, name)) {
					t.Errorf("the error does not name the file: %v", err)
				}
				want := test.err
				if errors.Is(want, fs.ErrNotExist) || name == "large" {
					want = nil
				}
				if err := disk.CheckInside(filepath.Join(base, folder), "none", name); !errors.Is(err, want) {
					t.Errorf("the check: %v", err)
				}
			}
		})
	}
	for name, want := range map[string]error{"in/pipe": syscall.ENOTDIR, "token": syscall.ENOTDIR, "none": fs.ErrNotExist} {
		if _, err := disk.ReadInside(filepath.Join(base, name), "a", 4); !errors.Is(err, want) {
			t.Errorf("the folder %s: %v", name, err)
		}
	}
	if got, err := disk.ReadInside("/dev", "zero", 4); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("a device: got %q and error %v, want %v", got, err, disk.ErrNotRegular)
	}
	if got, err := disk.ReadInside(filepath.Join(base, "in"), "a", 3); !errors.Is(err, disk.ErrTooLarge) {
		t.Errorf("beyond the limit: %q, %v", got, err)
	}
}

// TestReadFile checks that a named file may be a link to any place, but must be a regular file.
func TestReadFile(t *testing.T) {
	base := layout(t)
	for name, test := range map[string]struct {
		want string
		err  error
	}{
		"in/a": {want: "1234"}, "in/out": {want: "secret"}, "in/zero": {err: disk.ErrNotRegular}, "in/pipe": {err: disk.ErrNotRegular},
		"in": {err: disk.ErrNotRegular}, "none": {err: fs.ErrNotExist}, "in/large": {err: disk.ErrTooLarge}, "in/loop": {err: syscall.ELOOP},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := disk.ReadFile(filepath.Join(base, name), 6); string(got) != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestReadStream checks that a named pipe is read to its end, up to the limit.
func TestReadStream(t *testing.T) {
	base := layout(t)
	pipe := filepath.Join(base, "in", "pipe")
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte("piped"), 0o600) }()
	got, err := disk.ReadStream(pipe, 5)
	must(t, <-wrote)
	if string(got) != "piped" || err != nil {
		t.Errorf("a pipe: %q, %v", got, err)
	}
	if got, err = disk.ReadStream(filepath.Join(base, "in", "out"), 6); string(got) != "secret" || err != nil {
		t.Errorf("a link: %q, %v", got, err)
	}
	if _, err = disk.ReadStream("/dev/zero", 1<<10); !errors.Is(err, disk.ErrTooLarge) {
		t.Errorf("a device without end: %v", err)
	}
}

// TestReadFS checks that only regular files up to the limit are read from a file system.
func TestReadFS(t *testing.T) {
	root, err := os.OpenRoot(filepath.Join(layout(t), "in"))
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	for name, want := range map[string]error{
		"a": nil, "pipe": disk.ErrNotRegular, "socket": disk.ErrNotRegular, "large": disk.ErrTooLarge, "none": fs.ErrNotExist, "deep": disk.ErrNotRegular,
	} {
		if got, err := disk.ReadFS(root.FS(), name, 4); !errors.Is(err, want) || (want == nil) != (string(got) == "1234") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := disk.ReadFS(root.FS(), "out", 6); err == nil {
		t.Errorf("a link out of a root: %q", got)
	}
}

func TestReplaceWith(t *testing.T) {
	folder, broken := t.TempDir(), errors.New("broken")
	path := filepath.Join(folder, "file")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	for _, c := range []struct {
		name, path string
		write      func(io.Writer) error
		want       error
	}{
		{"a function that fails", path, func(w io.Writer) error {
			_, _ = io.WriteString(w, "new")
			return broken
		}, broken},
		{"a missing folder", filepath.Join(folder, "none", "file"), nil, fs.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := disk.ReplaceWith(c.path, 0o600, c.write)
			if !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			var file *fs.PathError
			if errors.As(err, &file) && file.Path != c.path {
				t.Errorf("the error names %s, want %s", file.Path, c.path)
			}
			entries, err := os.ReadDir(folder)
			text, wrong := os.ReadFile(path)
			if must(t, err, wrong); len(entries) != 1 || string(text) != "old" {
				t.Errorf("the folder has %d entries, the file %q: want the old file only", len(entries), text)
			}
		})
	}
}
