// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package embed lets a Gardener extension that exists use profiles inside its own manager: a Mutator is an
// extensionswebhook.Mutator, an Ensurer is a genericmutator.Ensurer, both of Gardener's extension library.
//
// Both run the same engine as Graft's own webhooks, and differ from them in what they are handed. That library decodes objects into
// Go types, so that both refuse to write a field that the types of the program do not have, instead of losing it; a Mutator can be
// given unstructured objects (see Mutator.Types), and then loses nothing. An Ensurer is handed parts of an OperatingSystemConfig: what
// no method of it can carry is refused when it is made, with the place in the profile.
//
// The package must not register webhooks, serve, or reload profiles: the extension's manager does all that. Enter at Load, NewMutator and
// NewEnsurer; docs/usage/embedding.md tells which of the two is for whom.
package embed
