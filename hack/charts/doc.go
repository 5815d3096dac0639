// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package charts has tests that render every chart with each file of values in the folder values. The folder schema has
// the parts of the charts' JSON Schemas that values.yaml does not show; hack/reference generates the schemas from both.
package charts
