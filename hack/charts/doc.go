// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package charts has tests that render every chart with all values in the folder values. The folder schema has what the schemas
// of values say in addition to values.yaml; hack/reference writes the schemas.
package charts
