// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package history records what clients of the network provider ask and are answered while the program is killed and stopped and its cloud fails, and
// checks the record with Porcupine against the model in model_test.go. docs/histories.md explains it.
package history
