// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package policy compiles and checks NetworkProfiles: pools, clouds, profiles for users, device attributes, quotas and
// denials, with the position of every mistake. A Policy is immutable and safe for concurrent use; a changed document
// creates another one.
//
// It reads no files, calls no cloud and keeps no results of evaluations; errors of evaluations contain the position in
// the document but no values. Package pkg/network/cloud/catalog checks declarations of clouds beyond their form. Start
// reading at Compile.
package policy
