// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaffold makes the files of a new profile: from answers to questions, or from a profile that exists, whose comments and
// attachments are kept. The result is compiled before anybody gets it. Write puts the files into a folder, all of them or none.
//
// It asks nobody: the questions come from the caller. Enter at New, From and Write.
package scaffold
