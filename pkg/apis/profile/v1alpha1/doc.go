// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains the documents that provider teams write, as Go types. They are data only:
// pkg/profile reads and validates them, pkg/controlplane compiles them. Values that may contain expressions
// stay source.Nodes, so that compile errors have a position in the file. Start reading at ProviderProfile,
// NetworkProfile and InterpreterProfile.
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the apiVersion of every document in this package.
var GroupVersion = schema.GroupVersion{Group: "graft.provider.extensions.gardener.cloud", Version: "v1alpha1"}

// KindProviderProfile is the kind of a ProviderProfile.
const KindProviderProfile = "ProviderProfile"
