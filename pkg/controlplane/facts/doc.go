// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package facts provides the data that an expression of a ProviderProfile can use: the shoot, its seed and cloud
// profile, the namespace, the object being admitted, the garden, and the results of lookups.
//
// Facts are decoded once from the raw resources of a Cluster (extensions.gardener.cloud/v1alpha1), into small structs
// for frequently used fields; the rest of a resource (spec, status) is decoded when an expression first uses it. Facts
// are immutable and shared between requests, and so are their CEL values.
//
// The package itself reads nothing: a Source does, such as that of facts/cluster. It uses no clients, files or clocks,
// and its errors contain no values of Secrets. Start reading at FromCluster, Variables and Facts.Activation.
package facts
