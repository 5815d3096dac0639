// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package expression compiles and evaluates the CEL in Graft's documents: conditions such as `${ shoot.hibernated }` and
// strings with expressions, such as `eu-${ shoot.region }`.
//
// The language is Kubernetes' CEL (the libraries of k8s.io/apiserver, optional types, comprehensions with two variables)
// with additional functions: satisfies, base64.encode, base64.decode, sha256, toJSON, toYAML and quote. Lists and maps may hold values of
// different types, which Kubernetes forbids, because documents are built with them. Expressions are compiled when a
// document is loaded: names, fields and types are checked, the cost is estimated and bounded, and every error has the
// place in the document. Evaluation reads nothing, keeps nothing and is safe for concurrent use.
//
// Callers declare the variables of an Environment as Variables, and those with fields as ObjectTypes. Start reading at
// NewEnvironment, Environment.Condition and Environment.Template.
package expression
