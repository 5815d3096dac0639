// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cni

import "os/exec"

// isolate does nothing where there are no process groups: the program alone is killed.
func isolate(*exec.Cmd) {}
