// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package shown checks that the objects which `make start-interpreter` asks about are as Gardener writes them: a Worker
// and an Etcd of its own component code, and what is said in members in the types of their controllers. It has tests
// only; enter at TestWorker. -update writes the objects.
package shown
