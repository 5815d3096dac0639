// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package checker records the requests of clients and the answers of the network provider, while the program is killed
// and its cloud fails. It checks the record with Porcupine against the model in model.go. docs/histories.md explains
// it.
package checker
