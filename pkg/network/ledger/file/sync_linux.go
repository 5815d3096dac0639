// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"os"
	"syscall"
)

// syncData makes what was written into a file durable, without the times of the file.
func syncData(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
