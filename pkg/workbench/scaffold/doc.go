// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaffold creates the files of a new profile: from answers to questions, or from an existing profile with its
// comments and files. The result is compiled before it is returned. Write writes the files to a folder, all or none.
//
// The caller asks the questions. Start reading at New, From and Write.
package scaffold
