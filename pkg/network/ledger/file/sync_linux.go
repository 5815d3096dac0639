// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"os"
	"syscall"
)

// syncData flushes the data of a file to disk, without its timestamps.
func syncData(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
