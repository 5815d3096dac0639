// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cni tests the delegation to CNI IPAM plugins with the real host-local, which `make servers` builds from Go
// modules. TestSuite has the cases of all clouds; the specs add the ledger, crashes, and a program that is killed.
package cni
