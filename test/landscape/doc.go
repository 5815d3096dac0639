// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package landscape brings up what a provider extension meets in a seed: a real etcd and a real kube-apiserver, the
// custom resource definitions that Gardener's components bring, and shoot namespaces with their Cluster resources as
// gardenlet writes them. The integration suites and `make start` stand on it.
//
// It runs no controllers and no kubelets, so nothing but the caller and its webhooks changes an object: what is
// read back is what was admitted. It knows nothing of the product, sets no process-wide state, and needs no root.
//
// Enter at [Start]; then [Landscape.CreateShoot] and [Landscape.CreateServiceAccount]; [Landscape.Stop] at the end.
package landscape
