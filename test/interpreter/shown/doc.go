// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package shown checks that the objects of `make start-interpreter` equal those that Gardener writes: a Worker and an
// Etcd of its own component code, and statuses in members of the types of their controllers. It has tests only; start
// reading at TestWorker. -update writes the objects.
package shown
