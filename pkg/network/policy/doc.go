// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package policy is what NetworkProfiles come to: pools, clouds, what users can choose, facts of devices, quotas and denials, checked and
// compiled, with the place of every mistake. A Policy is immutable and safe for concurrent use; a changed document makes another one.
//
// It reads no files, asks no cloud and keeps nothing of what it evaluates; errors of evaluations have the place in the document and no values.
// What is wrong with the declaration of a cloud beyond its form is for pkg/network/cloud/catalog. Enter at Compile.
package policy
