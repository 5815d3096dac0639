// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package systemd holds the units of hack/systemd against systemd's own programs, and the network provider against a
// socket that systemd has opened, with the rights of the units. A machine under user-mode Linux boots with them, too.
// It needs the Debian packages systemd and user-mode-linux, and root for a user and a network of its own. Another
// machine compares the commands that Graft computes of units with those that systemd runs. Enter at TestUnits, TestBoot
// and TestEffective.
package systemd
