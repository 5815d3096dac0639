// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package leak finds allocations whose holders do not live any more, since a release was lost, and gives them back where that is wanted.
//
// It is careful, as an address that is given away too early has two holders. An allocation is a suspect only when its holder was missing in two
// counts that lie a period apart, each begun after the allocation was made and each known to be complete; never while it is younger than a grace
// period; and its holder is looked for once more directly before it is released. Whoever cannot be looked for is not judged: an unknown
// kind of holder, a server that does not answer. A holder lives as long as its object exists, whatever its state is.
//
// It keeps no time, and knows no client: package kube counts what lives in Kubernetes. Enter at New.
package leak
