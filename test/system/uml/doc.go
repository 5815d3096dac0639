// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package uml runs a program under user-mode Linux: a kernel with every kind of link, ipvlan and VLAN among them, as a
// process of a machine whose own kernel may have none. The guest sees the files of the machine, cannot write them, and
// is gone when the program has ended.
//
// It needs a C compiler, see testdata/xstate.c. It knows nothing of the product. A test that uses it is the guest's first process, too: its TestMain calls [Guest].
// Linux only. Enter at [Run].
package uml
