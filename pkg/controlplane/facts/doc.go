// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package facts is what an expression of a ProviderProfile may see: the shoot, its seed and cloud profile, the namespace, the object that is
// being admitted, the garden, and what lookups have read.
//
// Facts are decoded once from the raw resources of a Cluster (extensions.gardener.cloud/v1alpha1), into small structs for what
// is asked for often; the rest of a resource (spec, status) is decoded when an expression first names it. Facts never
// change and are shared between requests, and so are the values that CEL sees.
//
// The package reads nothing itself: a Source does, such as that of facts/cluster. It knows no client, no file and no clock, and no error
// of it holds a value of a Secret. Enter at FromCluster, Variables and Facts.Activation.
package facts
