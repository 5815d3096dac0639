// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package systemd holds the units of hack/systemd against systemd's own programs, and the network provider against a socket that systemd has opened, with
// the rights of the units. It needs the Debian package systemd, and root for a user and a network of its own. Enter at TestUnits.
package systemd
