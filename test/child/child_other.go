// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package child

import "syscall"

// dieWithParent does nothing: only Linux tells a program of the end of its parent.
func dieWithParent(*syscall.SysProcAttr) {}
