// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package embed lets a Gardener extension that exists use profiles inside its own manager: a Mutator is an
// extensionswebhook.Mutator of Gardener's extension library.
//
// It runs the same engine as Graft's own webhooks. The library decodes objects into Go types, or into unstructured
// objects (see Mutator.Types). Of a typed object, a Mutator refuses to write a field that the type does not have; of an
// unstructured one, nothing is lost.
//
// The package must not register webhooks, serve, or reload profiles: the extension's manager does all that. Enter at
// Load and NewMutator; docs/usage/embedding.md has an example.
package embed
