// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package systemd tests the units of hack/systemd with systemd: its checks, its socket activation, and a guest of
// user-mode Linux that boots with the units. Another guest runs the kubelet's unit after edits of an
// OperatingSystemConfig, to check that the contract accepts none that changes the command. The suite needs the Debian
// packages systemd and user-mode-linux, and root for another user and a network namespace.
package systemd
