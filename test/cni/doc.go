// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cni holds the delegation to CNI IPAM plugins to the real host-local, which `make servers` builds from Go modules. It has
// tests only; enter at TestSuite for the contract of clouds, and at TestKilled for a program that is killed.
package cni
