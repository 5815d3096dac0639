// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package landscape starts the environment of a provider extension in a seed: a real etcd and a real kube-apiserver,
// the custom resource definitions of Gardener's components, and shoot namespaces with their Cluster resources as
// gardenlet writes them. The integration suites and `make start` use it. It runs no controllers and no kubelets, so
// that only the caller and its webhooks change objects. It does not know the product, sets no process-wide state, and
// needs no root. Start reading at [Start], then [Landscape.CreateShoot] and [Landscape.CreateServiceAccount]; call
// [Landscape.Stop] at the end.
package landscape
