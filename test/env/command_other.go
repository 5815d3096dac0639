// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package env

import "syscall"

// dieWithParent does nothing: only Linux can kill a program when its parent exits.
func dieWithParent(*syscall.SysProcAttr) {}
