// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// Folder is a Store in a directory that the programs of one machine share, as replicas share a Secret. It also
// writes ca.crt for the callers.
type Folder struct{ Path string }

const (
	folderFile = "certificates.json"
	folderLock = "lock"
)

// String implements Store.
func (f *Folder) String() string { return "the folder " + f.Path }

// Read implements Store.
func (f *Folder) Read(context.Context) (Stored, error) {
	text, err := disk.ReadInside(f.Path, folderFile, disk.CertificateSize)
	if errors.Is(err, fs.ErrNotExist) {
		return Stored{}, nil
	}
	if err != nil {
		return Stored{}, err
	}
	stored := Stored{Version: digest(text)}
	if err := json.Unmarshal(text, &stored.Data); err != nil {
		return Stored{}, fmt.Errorf("%s is damaged; delete it to issue new certificates", folderFile)
	}
	return stored, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Write implements Store. It writes ca.crt first, so that callers trust the served certificate even if the
// program ends halfway.
func (f *Folder) Write(ctx context.Context, data map[string][]byte, version string) error {
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return err
	}
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	now, err := f.Read(ctx)
	switch {
	case err != nil:
		return err
	case now.Version != version:
		return ErrConflict
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(f.Path, KeyBundle), data[KeyBundle], 0o644); err != nil {
		return err
	}
	return replace(filepath.Join(f.Path, folderFile), text, 0o600)
}

// lock takes the folder's lock, which allows one writer at a time.
func (f *Folder) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(f.Path, folderLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// replace writes a file atomically.
func replace(path string, text []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error explains more
	}
	return err
}
