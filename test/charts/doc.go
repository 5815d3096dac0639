// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package charts installs every chart, with all values in hack/charts/values, in a real kube-apiserver with the
// definitions of Gardener, prometheus-operator and cert-manager, which reject unknown and invalid fields. It compares
// Pods with the Pod security standards of Kubernetes, roles with the permissions of accounts, and upgrades with the
// objects that earlier versions have installed. There are no controllers, so that no Pod runs.
package charts
