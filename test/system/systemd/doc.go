// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package systemd tests the units of hack/systemd with systemd: its checks, its socket activation, and a guest of
// user-mode Linux that boots with the units. Another guest compares the commands that Graft computes from units with
// the commands that systemd runs. The suite needs the Debian packages systemd and user-mode-linux, and root for another
// user and a network namespace.
package systemd
