// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package uml runs a program in a guest of user-mode Linux, a kernel that is a process. Its modules have all kinds of
// links, such as ipvlan and VLANs, which the kernel of the machine may lack. The guest reads the files of the machine,
// but cannot write them. It ends with the program.
//
// The package needs Linux and a C compiler (testdata/xstate.c says why). The test's program is also the first process
// of the guest: its TestMain calls [Guest]. Start reading at [Run].
package uml
