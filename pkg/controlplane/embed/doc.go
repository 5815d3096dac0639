// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package embed lets an existing Gardener extension use profiles in its own manager: a Mutator is an
// extensionswebhook.Mutator of Gardener's extension library.
//
// It runs the engine of Graft's own webhooks. The library decodes objects into Go types, or into unstructured objects
// (see Mutator.Types). In a typed object, a Mutator refuses to write a field that the type lacks; an unstructured
// object loses nothing.
//
// The package must not register webhooks, serve, or reload profiles: the extension's manager does all that. Start
// reading at Load and NewMutator; docs/usage/embedding.md has an example.
package embed
