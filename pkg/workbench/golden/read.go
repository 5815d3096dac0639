// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// maximumSize is that of a file of a test, in bytes: a case has some control planes at most.
const maximumSize = 64 << 20

// Read reads a file of a test. Links must stay inside the folder of the nearest profile.yaml, or that of the file where there is none.
func Read(path string) ([]byte, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(absolute)
	if profile, ok := NearestProfile(folder); ok {
		folder = filepath.Dir(profile)
	}
	inside, err := filepath.Rel(folder, absolute)
	if err != nil {
		return nil, err
	}
	data, err := disk.ReadInside(folder, inside, maximumSize)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return nil, &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	return data, err
}
