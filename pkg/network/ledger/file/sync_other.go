// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package file

import "os"

// syncData flushes a file to disk.
func syncData(file *os.File) error { return file.Sync() }
