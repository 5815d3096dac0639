// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package explain describes documents, operations, targets, variables, functions, flags and feature gates like kubectl
// explain (Static), and the effect of each rule of the loaded profiles on one object, with the reason (Of). Both return
// data that a Style writes as text, or that encoding/json writes as JSON.
//
// It reads no files and no terminal. Its results contain no values of Secrets. Start reading at Static and Of.
package explain
